#include "daemon.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "config/config_file.hpp"
#include "config/quantity_text.hpp"
#include "linux/interface_conflicts.hpp"
#include "log.hpp"

namespace headgate {

namespace {

// Threads are looked at, and systemd's watchdog fed, once in this time.
constexpr auto kTick = std::chrono::seconds(1);

int checked(const char* attempt, int result) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), attempt);
  return result;
}

FileDescriptor open_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return FileDescriptor(checked("signalfd", signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC)));
}

FileDescriptor open_ticker() {
  FileDescriptor ticker(
      checked("timerfd_create", timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)));
  itimerspec period{};
  period.it_interval.tv_sec = period.it_value.tv_sec = kTick.count();
  checked("timerfd_settime", timerfd_settime(ticker.get(), 0, &period, nullptr));
  return ticker;
}

// What turns the kernel's monotonic time into the time since 1970, as of now.
Duration monotonic_to_real_time() {
  timespec real{};
  clock_gettime(CLOCK_REALTIME, &real);
  const Duration since_1970 = std::chrono::seconds(real.tv_sec) + Duration(real.tv_nsec);
  return since_1970 - MonotonicClock().now().time_since_epoch();
}

ControlReply to_control_reply(Reply reply) {
  ControlReply result(std::move(reply.line));
  if (reply.stream)
    result.stream = [stream = std::move(reply.stream)](std::string& out) { return stream->read(out); };
  return result;
}

bool same_shape(const ShapeConfig& a, const ShapeConfig& b) {
  return a.interface == b.interface && a.direction == b.direction;
}

// Settings that the running daemon keeps, because its devices, memory or sockets were made by them.
std::vector<std::string> fixed_settings_changed(const DaemonConfig& now, const DaemonConfig& next) {
  std::vector<std::string> names;
  if (now.divert != next.divert) names.emplace_back("divert");
  if (now.mark != next.mark) names.emplace_back("mark");
  if (now.memory != next.memory) names.emplace_back("memory");
  if (now.max_flows != next.max_flows) names.emplace_back("max_flows");
  if (now.idle != next.idle) names.emplace_back("idle");
  if (now.control != next.control) names.emplace_back("control");
  return names;
}

// The same of one shape: its attachment and what it has queued were made by them.
std::vector<std::string> fixed_settings_changed(const ShapeConfig& now, const ShapeConfig& next) {
  std::vector<std::string> names;
  if (now.forward_to != next.forward_to) names.emplace_back("forward_to");
  if (now.segmentation != next.segmentation) names.emplace_back("segmentation");
  if (now.capture != next.capture) names.emplace_back("capture");
  if (now.workers != next.workers) names.emplace_back("workers");
  return names;
}

ShapeConfig with_fixed_settings_of(const ShapeConfig& now, ShapeConfig next) {
  next.forward_to = now.forward_to;
  next.segmentation = now.segmentation;
  next.capture = now.capture;
  next.workers = now.workers;
  return next;
}

}  // namespace

Daemon::Daemon(Config config, CommandLine command_line)
    : config_(std::move(config)), command_line_(std::move(command_line)), started_(MonotonicClock().now()) {
  // First, so that a second daemon on the same socket is refused before it touches any device.
  control_socket_.emplace(config_.daemon.control, [this](std::string_view line) {
    return to_control_reply(handle_request(line, *this));
  });
  signals_ = open_signals();
  ticker_ = open_ticker();
  events_ = FileDescriptor(checked("epoll_create1", epoll_create1(EPOLL_CLOEXEC)));
  for (const int descriptor :
       {signals_.get(), ticker_.get(), link_monitor_.descriptor(), control_socket_->descriptor()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    checked("epoll_ctl", epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event));
  }
  refuse_interface_conflicts(netlink_, config_.shapes);
  for (const ShapeConfig& shape : config_.shapes) shapes_.push_back(make_shape(shape));
  // Somebody who types an interface's name wants to hear at once that there is none.
  const bool may_wait = !command_line_.config;
  for (const auto& shape : shapes_) shape->start(may_wait);
}

Daemon::~Daemon() = default;

std::unique_ptr<Shape> Daemon::make_shape(const ShapeConfig& config) const {
  return std::make_unique<Shape>(config_.daemon, config, [](const std::string& line) { log_warning(line); });
}

void Daemon::run() {
  for (const auto& shape : shapes_) {
    if (shape->diverting()) log_info("shaping " + shape->title());
  }
  if (shapes_.empty()) log_info("shapes nothing: no [[shape]] in the configuration");
  service_manager_.ready(status_line());
  while (!stopping_) wait_for_events();
  service_manager_.stopping("sending what is queued");
  log_info("stopping: what is queued is sent");
  for (const auto& shape : shapes_) shape->stop();
  control_socket_->dispatch();  // what captures still have for their clients
  shapes_.clear();
  control_socket_.reset();
}

void Daemon::wait_for_events() {
  std::array<epoll_event, 8> events;
  const int count = epoll_wait(events_.get(), events.data(), events.size(), -1);
  if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll_wait");
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[i].data.fd;
    if (descriptor == signals_.get()) handle_signal();
    if (descriptor == ticker_.get()) tick();
    if (descriptor == link_monitor_.descriptor()) handle_links();
    if (descriptor == control_socket_->descriptor()) control_socket_->dispatch();
  }
}

void Daemon::handle_signal() {
  signalfd_siginfo signal{};
  if (read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo != SIGHUP) {
    stopping_ = true;
    return;
  }
  const ReloadResult result = reload();
  for (const std::string& message : result.messages) {
    if (result.ok) {
      log_info(message);
    } else {
      log_error(message);
    }
  }
  if (!result.ok) log_error("not reloaded: the configuration in force is unchanged");
}

// Events tell only that something changed: they may be older than what the shapes have done since.
void Daemon::handle_links() {
  std::vector<Link> changed;
  bool all = false;
  const auto note = [&changed](const Link& link) { changed.push_back(link); };
  const auto note_all = [&all] { all = true; };
  link_monitor_.dispatch(note, note, note_all, note_all);
  for (const auto& shape : shapes_) {
    const auto concerns = [&shape](const Link& link) { return shape->concerns(link); };
    if (all || std::any_of(changed.begin(), changed.end(), concerns)) shape->maintain(netlink_);
  }
}

void Daemon::tick() {
  std::uint64_t expirations = 0;
  if (read(ticker_.get(), &expirations, sizeof expirations) < 0) return;
  bool progress = true;
  for (const auto& shape : shapes_) {
    progress = shape->check_progress() && progress;
    shape->maintain(netlink_);
  }
  service_manager_.status(status_line());
  if (progress) service_manager_.feed_watchdog();
}

std::string Daemon::status_line() const {
  if (shapes_.empty()) return "shapes nothing";
  std::string line;
  for (const auto& shape : shapes_) {
    if (!line.empty()) line += "; ";
    line += shape->diverting() ? "shaping " + shape->title() : shape->title() + " open";
    if (!shape->state().empty()) line += ": " + shape->state();
  }
  return line;
}

// An interface may be called by another of its names than before.
Shape* Daemon::find(const ShapeConfig& config) {
  if (Shape* shape = find(config.interface, config.direction)) return shape;
  const auto link = netlink_.find_link(config.interface);
  if (!link) return nullptr;
  const auto found = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& shape) {
    return shape->config().direction == config.direction && shape->interface_index(netlink_) == link->index;
  });
  return found == shapes_.end() ? nullptr : found->get();
}

Shape* Daemon::find(const std::string& interface, Direction direction) const {
  const auto found = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& shape) {
    return shape->config().interface == interface && shape->config().direction == direction;
  });
  return found == shapes_.end() ? nullptr : found->get();
}

DaemonStatus Daemon::status() {
  DaemonStatus status{.version = HEADGATE_VERSION,
                      .config_path = command_line_.config ? std::string() : command_line_.config_path,
                      .pid = getpid(),
                      .uptime = MonotonicClock().now() - started_,
                      .shapes = {}};
  for (const auto& shape : shapes_) status.shapes.push_back(shape->statistics());
  return status;
}

std::optional<std::vector<FlowStatistics>> Daemon::flows(const FlowsQuery& query) {
  Shape* shape = find(query.interface, query.direction);
  if (shape == nullptr) return std::nullopt;
  const auto& classes = shape->config().classes;
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&query](const ClassConfig& one) { return one.name == query.class_name; });
  if (found == classes.end()) return std::nullopt;
  return shape->largest_flows(static_cast<ClassIndex>(found - classes.begin()), query.limit);
}

CaptureResult Daemon::capture(const CaptureQuery& query) {
  CaptureResult result;
  std::size_t running = 0;
  for (const auto& each : shapes_) running += each->captures();
  Shape* shape = find(query.interface, query.direction);
  if (shape == nullptr) {
    result.refusal = "no such shape";
  } else if (running >= PacketTaps::kMost) {
    result.refusal = std::to_string(running) + " captures run already, end one of them first";
  } else {
    try {
      const auto tap = std::make_shared<PacketTap>(query.class_name, query.events);
      shape->capture(tap);
      const std::string class_name =
          query.interface + "/" + std::string(to_text(query.direction)) + "/" + query.class_name;
      result.stream = std::make_shared<CaptureStream>(tap, class_name, monotonic_to_real_time());
    } catch (const std::exception& error) {
      result.refusal = error.what();
    }
  }
  return result;
}

ReloadResult Daemon::reload() {
  if (command_line_.config) {
    return {.ok = false, .messages = {"nothing to reload: headgated was configured on its command line"}};
  }
  service_manager_.reloading();
  ReloadResult result;
  ConfigResult loaded = load_config(command_line_.config_path);
  for (const ConfigWarning& warning : loaded.warnings)
    result.messages.push_back("warning: " + warning.to_string());
  if (loaded.ok()) {
    command_line_.apply_to(loaded.config);
    try {
      for (std::string& message : apply(loaded.config)) result.messages.push_back(std::move(message));
      result.ok = true;
    } catch (const std::exception& error) {
      result.messages.emplace_back(error.what());
    }
  } else {
    for (const ConfigError& error : loaded.errors) result.messages.push_back(error.to_string());
  }
  service_manager_.ready(status_line());
  return result;
}

// All or nothing. What can fail comes first: new shapes are made and started, and are undone by their
// destructors when a later one fails; classes of shapes that stay are checked before any is changed.
std::vector<std::string> Daemon::apply(const Config& next) {
  std::vector<std::string> messages;
  refuse_interface_conflicts(netlink_, next.shapes);
  for (const ShapeConfig& config : next.shapes) {
    if (find(config) != nullptr) Shape::check_classes(config);
  }
  Shapes added;
  for (const ShapeConfig& config : next.shapes) {
    if (find(config) != nullptr) continue;
    added.push_back(make_shape(config));
    added.back()->start(true);
  }
  Shapes kept;
  for (const ShapeConfig& config : next.shapes) {
    Shape* shape = find(config);
    if (shape == nullptr) continue;
    for (const std::string& name : fixed_settings_changed(shape->config(), config)) {
      messages.push_back(shape->title() + ": " + name + " takes effect at the next start");
    }
    const ShapeConfig changed = with_fixed_settings_of(shape->config(), config);
    if (shape->config() == changed) continue;
    shape->reconfigure(changed);
    messages.push_back("changed: " + shape->title());
  }
  for (auto& shape : shapes_) {
    const bool stays = std::any_of(next.shapes.begin(), next.shapes.end(), [&](const ShapeConfig& config) {
      return same_shape(config, shape->config());
    });
    if (stays) {
      kept.push_back(std::move(shape));
      continue;
    }
    shape->stop();
    messages.push_back("no longer shaped: " + shape->title());
  }
  for (auto& shape : added) {
    messages.push_back("now shaped: " + shape->title());
    kept.push_back(std::move(shape));
  }
  shapes_ = std::move(kept);
  for (const std::string& name : fixed_settings_changed(config_.daemon, next.daemon)) {
    messages.push_back("daemon." + name + " takes effect at the next start");
  }
  config_.shapes = next.shapes;
  if (messages.empty()) messages.emplace_back("nothing changed");
  return messages;
}

}  // namespace headgate
