#include "daemon.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "config/config_file.hpp"
#include "config/interface_pattern.hpp"
#include "config/quantity_text.hpp"
#include "fixed_settings.hpp"
#include "linux/available_memory.hpp"
#include "linux/bulk_release.hpp"
#include "linux/interface_conflicts.hpp"
#include "log.hpp"
#include "wanted_instances.hpp"

namespace headgate {

namespace {

// Threads are looked at, and systemd's watchdog fed, once in this time.
constexpr auto kTick = std::chrono::seconds(1);

// What is queued at a stop is sent for so long.
constexpr Duration kStopTime = std::chrono::seconds(2);
// Of all shapes together: for answers of their workers, and for workers that take new classes.
constexpr Duration kAnswerPatience = std::chrono::milliseconds(200);
constexpr Duration kInForcePatience = std::chrono::seconds(2);
constexpr Duration kMemberPatience = std::chrono::milliseconds(100);

void log_as_warning(const std::string& line) {
  log_warning(line);
}

void log_as_info(const std::string& line) {
  log_info(line);
}

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
  result.body = reply.body;
  result.close = reply.close;
  if (reply.with_body) {
    result.with_body = [with_body = std::move(reply.with_body)](std::string body) {
      return to_control_reply(with_body(std::move(body)));
    };
  }
  if (reply.stream)
    result.stream = [stream = std::move(reply.stream)](std::string& out) { return stream->read(out); };
  return result;
}

bool same_shape(const ShapeConfig& a, const ShapeConfig& b) {
  return a.interface == b.interface && a.direction == b.direction && a.pattern == b.pattern;
}

const ClassConfig* find_class(const ShapeConfig& shape, std::string_view name) {
  const auto found = std::find_if(shape.classes.begin(), shape.classes.end(),
                                  [name](const ClassConfig& one) { return one.name == name; });
  return found == shape.classes.end() ? nullptr : &*found;
}

Config with_captures_chosen(Config config) {
  for (ShapeConfig& shape : config.shapes) shape.capture = choose_capture(shape.capture);
  return config;
}

}  // namespace

Daemon::Daemon(Config config, ConfigTexts texts, CommandLine command_line, CompiledMatches& matches,
               MemorySource& memory)
    : config_(with_captures_chosen(config)),
      command_line_(std::move(command_line)),
      matches_(matches),
      started_(MonotonicClock().now()),
      memory_(memory),
      divert_(config_.daemon.divert, config_.daemon.mark,
              2 * WorkerSet::most(config_.daemon.workers),  // of two kinds
              [this] { feed_meanwhile(); }),
      workers_(config_.daemon.workers, memory, log_as_warning, [this] { feed_meanwhile(); }),
      patterns_({.divert = divert_,
                 .daemon = config_.daemon,
                 .matches = matches_,
                 .workers = workers_,
                 .memory = memory_,
                 .log = log_as_info,
                 .warn = log_as_warning,
                 .meanwhile = [this] { feed_meanwhile(); }}),
      budgets_(log_as_info, log_as_warning),
      live_(*this, command_line_.config ? std::string() : command_line_.config_path, std::move(texts),
            std::move(config)),
      operators_(config_.daemon.operators.empty() ? std::nullopt : find_group(config_.daemon.operators)) {
  if (!config_.daemon.operators.empty() && !operators_)
    log_warning("operators: there is no group " + config_.daemon.operators +
                ": only root may change anything");
  // First, so that a second daemon on the same socket is refused before it touches any device.
  control_socket_.emplace(config_.daemon.control, [this](std::string_view line, const PeerCredentials& peer) {
    const Requester requester{.name = name_of(peer), .may_change = may_change(peer)};
    return to_control_reply(handle_request(line, *this, requester));
  });
  signals_ = open_signals();
  ticker_ = open_ticker();
  events_ = FileDescriptor(checked("epoll_create1", epoll_create1(EPOLL_CLOEXEC)));
  for (const int descriptor : {signals_.get(), ticker_.get(), link_monitor_.descriptor(),
                               control_socket_->descriptor(), budgets_.descriptor()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    checked("epoll_ctl", epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event));
  }
  const std::vector<ShapeConfig> named = named_shapes(config_.shapes);
  refuse_interface_conflicts(netlink_, named);
  for (const ShapeConfig& shape : named) shapes_.push_back(make_shape(shape, config_.shapes.size()));
  // Somebody who types an interface's name wants to hear at once that there is none.
  const bool may_wait = !command_line_.config;
  for (const auto& shape : shapes_) shape->start(may_wait);
  Messages said;
  patterns_.configure(config_.shapes, said);
  start_missing_instances();
  budgets_.put_in_force(config_);
  matches_.drop_unused();
}

Daemon::~Daemon() {
  feeding_ = false;
}

// `shapes`: how many there are to be, this one included.
std::unique_ptr<Shape> Daemon::make_shape(const ShapeConfig& config, std::size_t shapes) {
  return std::make_unique<Shape>(divert_, config_.daemon, config, matches_, workers_, memory_,
                                 CaptureShare::of_one_in(shapes), log_as_warning);
}

// All at the same time.
void Daemon::stop(std::span<const std::unique_ptr<Shape>> shapes) {
  for (const auto& shape : shapes) {
    shape->begin_stop();
    feed_meanwhile();
  }
  const Instant give_up = MonotonicClock().now() + kStopTime;
  for (const auto& shape : shapes) {
    shape->stop(give_up);
    feed_meanwhile();
  }
}

// Instances among them count in the sums of their patterns from here on.
void Daemon::end(Shapes shapes) {
  if (shapes.empty()) return;
  const BulkRelease at_once;
  stop(shapes);
  for (const auto& shape : shapes) patterns_.note_end(*shape);
  const Shapes ended = std::move(shapes);  // before what is released at once
}

void Daemon::run() {
  for (const auto& shape : shapes_) {
    if (shape->diverting() && shape->config().pattern.empty()) log_info("shaping " + shape->title());
  }
  for (const std::string& line : patterns_.status_lines(shapes_)) log_info(line);
  if (config_.shapes.empty()) log_info("shapes nothing: no [[shape]] in the configuration");
  service_manager_.ready(status_line());
  feeding_ = true;
  while (!stopping_) wait_for_events();
  service_manager_.stopping("sending what is queued");
  log_info("stopping: what is queued is sent");
  {
    const BulkRelease at_once;
    stop(shapes_);
    control_socket_->dispatch();  // what captures still have for their clients
    const Shapes stopped = std::exchange(shapes_, {});
  }
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
    if (descriptor == budgets_.descriptor()) budgets_.work(shapes_);
  }
}

void Daemon::handle_signal() {
  signalfd_siginfo signal{};
  if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) return;
  if (signal.ssi_signo != SIGHUP) {
    stopping_ = true;
    return;
  }
  const ChangeResult result = reload("SIGHUP");
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
  bool all = false, instances = false;
  const auto note_change = [&](const Link& link) {
    changed.push_back(link);
    instances = instances || patterns_.may_matter(link);
  };
  const auto note_end = [&](const Link& link) {
    changed.push_back(link);
    instances = instances || patterns_.may_end(link);
  };
  const auto note_all = [&all] { all = true; };
  const auto note_overrun = [&] { all = instances = true; };
  link_monitor_.dispatch(note_change, note_end, note_all, note_overrun);
  divert_.forget_look();
  if (instances) end_unwanted_instances();
  for (const auto& shape : shapes_) {
    const auto concerns = [&shape](const Link& link) { return shape->concerns(link); };
    if (!all && std::none_of(changed.begin(), changed.end(), concerns)) continue;
    shape->maintain(netlink_);
    feed_meanwhile();
  }
  if (!instances) return;
  start_missing_instances();
  workers_.end_unused();
}

void Daemon::end_unwanted_instances() {
  look_at_links([this] { end(patterns_.take_unwanted(shapes_, netlink_)); });
}

// An interface may have come and gone again meanwhile: the next events say so.
void Daemon::start_missing_instances() {
  const std::size_t before = shapes_.size();
  look_at_links([this] { patterns_.start_missing(shapes_, netlink_); });
  repeat_member_changes(before);
}

// The kernel may not be able to say which links there are while many come and go.
void Daemon::look_at_links(const std::function<void()>& look) {
  try {
    look();
  } catch (const std::exception& error) {
    if (!look_again_) log_warning(std::string("interfaces that match a pattern: ") + error.what());
    look_again_ = true;
  }
}

void Daemon::tick() {
  std::uint64_t expirations = 0;
  if (::read(ticker_.get(), &expirations, sizeof expirations) < 0) return;
  feed_watchdog();
  workers_.look_for_starvation();
  divert_.cgroups().look();
  divert_.forget_look();
  patterns_.look_for_starvation(shapes_);
  for (const auto& shape : shapes_) {
    shape->look_after(netlink_);
    feed_meanwhile();
  }
  if (std::exchange(look_again_, false) || patterns_.retry_is_due()) {
    end_unwanted_instances();
    start_missing_instances();
  }
  live_.tick(MonotonicClock().now());
  service_manager_.status(status_line());
}

// A worker that puts new classes in force for one shape stands still for all that it serves.
bool Daemon::gets_on() const {
  const auto takes_new_classes = [](const auto& shape) { return shape->takes_new_classes(); };
  const auto its_workers_get_on = [](const auto& shape) { return shape->gets_on(); };
  return std::any_of(shapes_.begin(), shapes_.end(), takes_new_classes) ||
         std::all_of(shapes_.begin(), shapes_.end(), its_workers_get_on);
}

void Daemon::feed_watchdog() {
  fed_ = MonotonicClock().now();
  if (gets_on()) service_manager_.feed_watchdog();
}

// Called within whatever may take longer than a tick.
void Daemon::feed_meanwhile() {
  if (feeding_ && MonotonicClock().now() - fed_ > kTick / 2) feed_watchdog();
}

std::string Daemon::status_line() const {
  if (config_.shapes.empty()) return "shapes nothing";
  std::string line;
  for (const auto& shape : shapes_) {
    if (!shape->config().pattern.empty()) continue;
    if (!line.empty()) line += "; ";
    line += shape->diverting() ? "shaping " + shape->title() : shape->title() + " open";
    if (!shape->state().empty()) line += ": " + shape->state();
  }
  for (const std::string& pattern : patterns_.status_lines(shapes_))
    line += (line.empty() ? "" : "; ") + pattern;
  return line;
}

Shape* Daemon::find(const std::string& interface, Direction direction) const {
  const auto found = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& shape) {
    return shape->config().interface == interface && shape->config().direction == direction;
  });
  return found == shapes_.end() ? nullptr : found->get();
}

Shape* Daemon::find(const ShapeConfig& config) const {
  const auto found = std::find_if(shapes_.begin(), shapes_.end(), [&config](const auto& shape) {
    return same_shape(shape->config(), config);
  });
  return found == shapes_.end() ? nullptr : found->get();
}

// For a shape whose interface is called by another of its names than before. Not where the file has that shape, too.
Shape* Daemon::find_by_other_name(const ShapeConfig& config, const std::vector<ShapeConfig>& all) {
  if (!config.pattern.empty()) return nullptr;
  const auto link = netlink_.find_link(config.interface);
  if (!link) return nullptr;
  const auto found = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& shape) {
    const auto is_it = [&shape](const ShapeConfig& one) { return same_shape(one, shape->config()); };
    return shape->config().pattern.empty() && shape->config().direction == config.direction &&
           shape->interface_index(netlink_) == link->index && std::none_of(all.begin(), all.end(), is_it);
  });
  return found == shapes_.end() ? nullptr : found->get();
}

// The shape of each, by position, and no shape twice. Null: there is none yet.
std::vector<Shape*> Daemon::find_all(const std::vector<ShapeConfig>& configs) {
  std::vector<Shape*> shapes;
  for (const ShapeConfig& config : configs) {
    Shape* shape = find(config);
    if (shape == nullptr) shape = find_by_other_name(config, configs);
    const bool taken = std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
    shapes.push_back(taken ? nullptr : shape);
  }
  return shapes;
}

DaemonStatus Daemon::status() {
  DaemonStatus status{.version = HEADGATE_VERSION,
                      .config_path = command_line_.config ? std::string() : command_line_.config_path,
                      .pid = getpid(),
                      .uptime = MonotonicClock().now() - started_,
                      .kernel_lacks = divert_.kernel_lacks(),
                      .shapes = {}};
  for (const auto& shape : shapes_) shape->ask_for_statistics();
  const Instant patience = MonotonicClock().now() + kAnswerPatience;
  for (const auto& shape : shapes_) status.shapes.push_back(shape->statistics(patience));
  status.budgets = budgets_.statistics();
  status.patterns = patterns_.statistics(shapes_, status.shapes);
  return status;
}

std::optional<std::vector<FlowStatistics>> Daemon::flows(const FlowsQuery& query) {
  feed_meanwhile();  // a request may ask this of many classes
  Shape* shape = find(query.interface, query.direction);
  if (shape == nullptr) return std::nullopt;
  const auto& classes = shape->config().classes;
  const bool known = std::any_of(classes.begin(), classes.end(),
                                 [&query](const ClassConfig& one) { return one.name == query.class_name; });
  if (!known) return std::nullopt;
  return shape->largest_flows(query.class_name, query.limit);
}

ExplainResult Daemon::explain(const ExplainQuery& query) {
  ExplainResult result;
  Shape* shape = find(query.interface, query.direction.value_or(Direction::egress));
  if (shape == nullptr && !query.direction) shape = find(query.interface, Direction::ingress);
  if (shape == nullptr) {
    for (const auto& each : shapes_) result.instead.push_back(&each->config());
    return result;
  }
  result.shape = &shape->config();
  result.state = shape->trouble();
  result.link_header = shape->link_header();
  try {
    result.explanation = shape->explain(query.frame, query.mark);
  } catch (const std::exception& error) {
    result.refusal = error.what();
  }
  return result;
}

std::vector<const ShapeConfig*> Daemon::shapes() const {
  std::vector<const ShapeConfig*> shapes;
  shapes.reserve(config_.shapes.size());
  for (const ShapeConfig& shape : config_.shapes) shapes.push_back(&shape);
  return shapes;
}

// Those of a pattern, or one.
std::vector<Shape*> Daemon::shapes_of(const MemberChange& change) const {
  std::vector<Shape*> shapes;
  for (const auto& shape : shapes_) {
    const ShapeConfig& config = shape->config();
    const std::string& name = config.pattern.empty() ? config.interface : config.pattern;
    if (name == change.interface && config.direction == change.direction) shapes.push_back(shape.get());
  }
  return shapes;
}

MemberResult Daemon::put_member(const MemberChange& change) {
  const auto configured = std::find_if(config_.shapes.begin(), config_.shapes.end(), [&](const auto& shape) {
    return shape.interface == change.interface && shape.direction == change.direction;
  });
  const ClassConfig* const config =
      configured == config_.shapes.end() ? nullptr : find_class(*configured, change.class_name);
  if (config == nullptr) return {.refusal = "there is no such class any more"};
  if (change.plan != kNoPlan && change.plan >= config->plans.size())
    return {.refusal = "there is no such plan any more"};
  const std::vector<Shape*> shapes = shapes_of(change);
  for (Shape* shape : shapes) {
    if (!shape->wait_until_in_force(MonotonicClock().now() + kMemberPatience))
      return {.refusal = shape->title() + ": its workers are busy with new classes; try again"};
  }
  const Member member{change.member, change.plan};
  const MemberChanges::Result result = member_changes_.change(*configured, *config, member);
  if (result.outcome == MemberChanges::Outcome::too_many)
    return {.refusal =
                "the class has " + std::to_string(result.members) + " members, the most that are possible"};
  if (result.outcome == MemberChanges::Outcome::changed) {
    const auto all = [&] { return member_changes_.members_of(*configured, *config); };
    for (Shape* shape : shapes) shape->change_member(config->name, member, result.members, all);
  }
  return {.ok = true, .before = result.before};
}

// To instances that are new and know the members of the last reload.
void Daemon::repeat_member_changes(std::size_t first_shape) {
  for (std::size_t i = first_shape; i < shapes_.size(); ++i) {
    for (const ShapeConfig& shape : config_.shapes) {
      const ShapeConfig& instance = shapes_[i]->config();
      if (shape.interface == instance.pattern && shape.direction == instance.direction)
        repeat_member_changes(shape, *shapes_[i]);
    }
  }
}

void Daemon::repeat_member_changes(const ShapeConfig& pattern, Shape& instance) {
  for (const ClassConfig& config : instance.config().classes) {
    const std::vector<Member> since = member_changes_.since_in_force(pattern, config);
    if (since.empty()) continue;
    const std::vector<Member> all = member_changes_.members_of(pattern, config);
    for (const Member& member : since)
      instance.change_member(config.name, member, all.size(), [&all] { return all; });
  }
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
      const auto tap = std::make_shared<PacketTap>(query.class_name, query.events, PacketTap::kDefaultMemory,
                                                   shape->link_header());
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

// The file says which group when headgated starts.
bool Daemon::may_change(const PeerCredentials& peer) const {
  return permitted(peer, {.own_user = geteuid(), .group = operators_});
}

ChangeResult Daemon::reload(const std::string& who) {
  service_manager_.reloading();
  ChangeResult result = live_.reload(who);
  service_manager_.ready(status_line());
  return result;
}

ChangeResult Daemon::set(const SetRequest& request, const std::string& who) {
  return live_.set(request, who, MonotonicClock().now());
}

ChangeResult Daemon::limit(const LimitRequest& request, const std::string& who) {
  return live_.limit(request, who, MonotonicClock().now());
}

ChangeResult Daemon::unlimit(const LimitRequest& request, const std::string& who) {
  return live_.unlimit(request, who);
}

ChangeResult Daemon::try_text(const TryRequest& request, const std::string& who) {
  return live_.try_text(request, who, MonotonicClock().now());
}

ChangeResult Daemon::confirm(const std::string& who) {
  return live_.confirm(who);
}

ChangeResult Daemon::undo(const std::string& who) {
  return live_.undo(who, MonotonicClock().now());
}

MemberResult Daemon::change_member(const MemberChange& change, const std::string& who) {
  return live_.change_member(change, who, MonotonicClock().now());
}

DiffResult Daemon::diff() {
  return live_.diff(MonotonicClock().now());
}

SaveResult Daemon::save() {
  return live_.save();
}

// Expressions are compiled meanwhile in threads of their own, for seconds where there are many.
ConfigResult Daemon::read(const ConfigDocument& document) {
  ConfigResult result = document.read({.matches = &matches_,
                                       .meanwhile =
                                           [this] {
                                             tick();
                                             budgets_.work(shapes_);
                                           },
                                       .memory = available_memory(Held::counts)});
  if (result.ok()) {
    command_line_.apply_to(result.config);
  } else {
    matches_.drop_unused();
  }
  return result;
}

std::vector<std::string> Daemon::apply(const Config& config) {
  // What was in force before may have been forgotten; compiled together, it keeps nobody waiting.
  std::set<std::string> expressions;
  for (const ShapeConfig& shape : config.shapes)
    for (const ClassConfig& one : shape.classes)
      if (!one.match.empty()) expressions.insert(one.match);
  matches_.compile_all(expressions, [this] {
    feed_meanwhile();
    budgets_.work(shapes_);
  });
  Messages messages = put_in_force(with_captures_chosen(config));
  matches_.drop_unused();
  return messages;
}

bool Daemon::has_interface(const std::string& name) {
  return is_interface_pattern(name) || netlink_.find_link(name).has_value();
}

void Daemon::log(const std::string& line) {
  log_info(line);
}

// All or nothing. What can fail comes first: shapes that stay are prepared, new shapes are made and started, and go
// again when a later one fails. What is handed to the workers then is in force, however late. Instances that are to come
// are no part of it: they come and go with their interfaces.
Daemon::Messages Daemon::put_in_force(Config next) {
  Messages messages;
  MemberChanges member_changes = member_changes_.put_into(next.shapes, messages);
  note_members_in_force();
  std::vector<ShapeConfig> configs = named_shapes(next.shapes);
  refuse_interface_conflicts(netlink_, configs);
  patterns_.refuse_impossible(next.shapes);
  for (ShapeConfig& instance : patterns_.staying(next.shapes, shapes_, netlink_))
    configs.push_back(std::move(instance));
  const std::vector<Shape*> present = find_all(configs);
  const std::vector<Shape*> changed = prepare(configs, present, messages);
  Shapes added;
  try {
    clear_the_way(configs, present);
    added = start_new(configs, present);
  } catch (...) {
    start_missing_instances();
    throw;
  }
  put_in_force(changed, messages);
  member_changes_ = std::move(member_changes);
  config_.shapes = next.shapes;
  if (config_.budgets != next.budgets) messages.emplace_back("changed: budgets");
  config_.budgets = next.budgets;
  end_all_but(present, messages);
  for (auto& shape : added) {
    messages.push_back("now shaped: " + shape->title());
    shapes_.push_back(std::move(shape));
  }
  patterns_.configure(next.shapes, messages);
  patterns_.retry_all();
  start_missing_instances();
  budgets_.put_in_force(config_);
  divert_.forget_hook_trial();
  workers_.end_unused();
  for (const std::string& name : fixed_settings_changed(config_.daemon, next.daemon)) {
    messages.push_back("daemon." + name + " takes effect at the next start");
  }
  if (messages.empty()) messages.emplace_back("nothing changed");
  return messages;
}

// What run time said of members is in force where it was said, so that only what differs from that is a change.
void Daemon::note_members_in_force() {
  for (const auto& shape : shapes_) {
    const ShapeConfig& config = shape->config();
    const std::string& name = config.pattern.empty() ? config.interface : config.pattern;
    const auto configured = std::find_if(
        config_.shapes.begin(), config_.shapes.end(),
        [&](const ShapeConfig& one) { return one.interface == name && one.direction == config.direction; });
    if (configured == config_.shapes.end()) continue;
    shape->note_members([&](const ClassConfig& one) { return member_changes_.members_of(*configured, one); });
  }
}

// Returns those that change.
std::vector<Shape*> Daemon::prepare(const std::vector<ShapeConfig>& configs,
                                    const std::vector<Shape*>& present, Messages& messages) {
  std::vector<Shape*> changed;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    Shape* const shape = present[i];
    if (shape == nullptr) continue;
    for (const std::string& name : fixed_settings_changed(shape->config(), configs[i]))
      messages.push_back(shape->title() + ": " + name + " takes effect at the next start");
    refuse_several_workers(shape->title(), shape->config(), configs[i]);
    const ShapeConfig with_fixed = with_fixed_settings_of(shape->config(), configs[i]);
    if (shape->config() == with_fixed) continue;
    shape->prepare(with_fixed);
    changed.push_back(shape);
  }
  return changed;
}

// Those that are not present. Each may wait for the kernel for some tenths of a second.
Daemon::Shapes Daemon::start_new(const std::vector<ShapeConfig>& configs,
                                 const std::vector<Shape*>& present) {
  Shapes added;
  try {
    for (std::size_t i = 0; i < configs.size(); ++i) {
      if (present[i] != nullptr) continue;
      added.push_back(make_shape(configs[i], configs.size()));
      added.back()->start(true);
      feed_meanwhile();
    }
  } catch (...) {
    const BulkRelease at_once;
    stop(added);
    added.clear();
    throw;
  }
  return added;
}

// An interface that a shape names by now is no instance any more.
void Daemon::clear_the_way(const std::vector<ShapeConfig>& configs, const std::vector<Shape*>& present) {
  for (std::size_t i = 0; i < configs.size(); ++i)
    if (present[i] == nullptr) end(patterns_.take_in_the_way(configs[i], shapes_, netlink_));
}

void Daemon::put_in_force(const std::vector<Shape*>& changed, Messages& messages) {
  for (Shape* shape : changed) shape->begin_put_in_force();
  for (Shape* shape : changed) shape->put_in_force();
  const Instant patience = MonotonicClock().now() + kInForcePatience;
  for (Shape* shape : changed) {
    bool taken = false;
    for (Instant now{}; !taken && now < patience; now = MonotonicClock().now()) {
      taken = shape->wait_until_in_force(std::min(patience, MonotonicClock().now() + WorkerThread::kSlice));
      feed_meanwhile();
    }
    if (taken && !shape->config().pattern.empty()) continue;  // said of its pattern
    messages.push_back("changed: " + shape->title() +
                       (taken ? "" : "; its workers are busy and take the new classes as soon as they can"));
  }
}

// Only present ones stay.
void Daemon::end_all_but(const std::vector<Shape*>& present, Messages& messages) {
  const auto gone = std::stable_partition(shapes_.begin(), shapes_.end(), [&](const auto& shape) {
    return std::find(present.begin(), present.end(), shape.get()) != present.end();
  });
  for (auto shape = gone; shape != shapes_.end(); ++shape)
    if ((*shape)->config().pattern.empty()) messages.push_back("no longer shaped: " + (*shape)->title());
  Shapes ended(std::make_move_iterator(gone), std::make_move_iterator(shapes_.end()));
  shapes_.erase(gone, shapes_.end());
  end(std::move(ended));
}

}  // namespace headgate
