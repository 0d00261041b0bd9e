#include "shape.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "config/match_expression.hpp"
#include "linux/huge_pages.hpp"
#include "pipeline/virtio_header.hpp"

namespace headgate {

namespace {

constexpr std::uint32_t kFlowRecordsPerCall = 4096;

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// The shaper knows only classes: each is told what its link adds.
std::vector<ClassConfig> classes_of(const ShapeConfig& config) {
  std::vector<ClassConfig> classes = config.classes;
  for (ClassConfig& one : classes) one.link_layer = {.overhead = config.overhead, .mpu = config.mpu};
  return classes;
}

std::shared_ptr<const Classifier> make_classifier(const ShapeConfig& config, std::uint64_t hash_seed) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers;
  for (const ClassConfig& one : config.classes) {
    std::string error;
    matchers.push_back(one.match.empty() ? nullptr : compile_match(one.match, error));
    if (!error.empty())
      throw std::runtime_error(title_of(config) + ": class " + one.name + ": match: " + error);
  }
  return std::make_shared<const Classifier>(classes_of(config), std::move(matchers), hash_seed);
}

// A super-packet is kept with its virtio header in front.
std::uint8_t frame_prefix_of(const ShapeConfig& config) {
  return config.segmentation == Segmentation::whole ? sizeof(VirtioHeader) : 0;
}

WorkerStates make_workers(const DaemonConfig& daemon, const ShapeConfig& config, Instant now) {
  const ShaperLimits limits{.memory = DataSize{daemon.memory.bytes / config.workers},
                            .max_flows = std::max(daemon.max_flows / config.workers, 1U),
                            .frame_prefix = frame_prefix_of(config),
                            .idle = daemon.idle,
                            .table_memory = huge_pages()};
  WorkerStates workers;
  for (std::uint32_t i = 0; i < config.workers; ++i)
    workers.push_back(std::make_unique<WorkerState>(limits, classes_of(config), now));
  return workers;
}

}  // namespace

Shape::Shape(const DaemonConfig& daemon, const ShapeConfig& config, Attachment::Log log)
    : daemon_(daemon),
      log_(std::move(log)),
      config_(config),
      hash_seed_(random_seed()),
      classifier_(make_classifier(config, hash_seed_)),
      workers_(make_workers(daemon, config, clock_.now())),
      last_readings_(workers_.size()) {}

Shape::~Shape() {
  stop();
}

void Shape::start(bool may_wait) {
  Netlink netlink;
  const std::string missing = missing_interface(netlink);
  if (!missing.empty() && may_wait) {
    open_since("there is no interface " + missing + " yet");
  } else {
    try {
      attach();
    } catch (const std::system_error& error) {
      // What was there a moment ago has gone meanwhile: as if it had gone a moment later.
      if (!may_wait || error.code() != std::errc::no_such_device) throw;
      open_since(error.what());
    }
  }
  running_ = true;
}

void Shape::stop() {
  if (!std::exchange(running_, false)) return;
  if (attachment_) attachment_->stop(Attachment::Queued::send);
  drop_queued();
  past_losses_ = losses();
  attachment_.reset();
  if (!config_.forward_to.empty()) TrafficDivert::remove_wire(config_.interface);
  for (const auto& tap : captures_) tap->end();
  state_ = "stopped";
}

std::string Shape::missing_interface(Netlink& netlink) const {
  if (!netlink.find_link(config_.interface)) return config_.interface;
  if (!config_.forward_to.empty() && !netlink.find_link(config_.forward_to)) return config_.forward_to;
  return {};
}

int Shape::interface_index(Netlink& netlink) const {
  if (const auto link = netlink.find_link(config_.interface)) return link->index;
  return attachment_ ? attachment_->divert().interface_index() : 0;
}

// What could not be sent any more, because nothing was attached to send it.
void Shape::drop_queued() {
  std::array<DuePacket, 64> batch;
  for (const auto& worker : workers_) {
    Shaper& shaper = worker->shaper;
    for (std::size_t count = shaper.release_all(batch); count > 0; count = shaper.release_all(batch))
      shaper.complete_dropped({batch.data(), count}, DropReason::stop);
  }
}

void Shape::attach() {
  attachment_ = std::make_unique<Attachment>(daemon_, config_, classifier_, workers_, log_);
  try {
    attachment_->start();
    state_.clear();
    watch_hooks();
  } catch (...) {
    attachment_.reset();
    throw;
  }
}

void Shape::try_to_attach() {
  try {
    attach();
    if (diverting()) log_(title() + ": shaping again");
  } catch (const std::exception& error) {
    open_since(error.what());
  }
}

void Shape::end_attachment(const std::string& reason) {
  attachment_->keep_wire();
  attachment_->stop(Attachment::Queued::keep);
  past_losses_ = losses();
  attachment_.reset();
  bypass_.clear();
  open_since(reason);
}

void Shape::open_since(const std::string& reason) {
  if (state_ == reason) return;
  state_ = reason;
  log_(title() + ": traffic passes unshaped: " + reason);
}

void Shape::check_classes(const ShapeConfig& config) {
  make_classifier(config, 0);
}

void Shape::reconfigure(const ShapeConfig& config) {
  const auto classifier = make_classifier(config, hash_seed_);
  if (attachment_) {
    attachment_->reconfigure(config, classifier);
  } else {
    std::vector<Shaper*> shapers;
    for (const auto& worker : workers_) {
      worker->taps.reconfigure(config.classes);
      shapers.push_back(&worker->shaper);
    }
    Reconfiguration(classifier, std::vector<Waiter*>(workers_.size())).run(shapers, clock_.now());
  }
  classifier_ = classifier;
  config_ = config;
}

bool Shape::concerns(const Link& link) const {
  if (link.is_called(config_.interface) || link.is_called(config_.forward_to)) return true;
  if (!attachment_) return false;
  const TrafficDivert& divert = attachment_->divert();
  return link.index == divert.interface_index() || link.index == divert.transmit_index() ||
         link.index == divert.device_index() || link.index == divert.peer_index();
}

void Shape::maintain(Netlink& netlink) {
  if (!running_) return;
  if (attachment_) {
    const std::string reason = why_not_intact(netlink);
    if (!reason.empty()) end_attachment(reason);
  }
  if (attachment_) watch_hooks();
  if (!attachment_ && missing_interface(netlink).empty()) try_to_attach();
}

// Where others stand ahead of us on a divert device, what is diverted may be lost: the host is open until they have gone.
void Shape::watch_hooks() {
  const TrafficDivert::Hooks hooks = attachment_->divert().hooks();
  if (!hooks.missing.empty()) {
    end_attachment(hooks.missing);
  } else if (!hooks.obstruction.empty()) {
    attachment_->detach();
    bypass_.clear();
    open_since(hooks.obstruction);
  } else if (!diverting()) {
    resume();
  } else {
    note_bypass(hooks.bypass);
  }
}

void Shape::resume() {
  try {
    attachment_->resume();
    state_.clear();
    log_(title() + ": shaping again");
  } catch (const std::exception& error) {
    end_attachment(error.what());
  }
}

void Shape::note_bypass(const std::string& bypass) {
  if (bypass_ == bypass) return;
  bypass_ = bypass;
  log_(title() + ": " + (bypass.empty() ? "nothing runs ahead of headgate's program any more" : bypass));
}

namespace {

// Whether somebody else has the name by now that an interface was found by.
std::string why_another(Netlink& netlink, const std::string& name, const Link& found) {
  const std::optional<Link> named = netlink.find_link(name);
  if (!named || named->index == found.index) return {};
  return name + " is another interface by now, the one before is called " + found.name;
}

}  // namespace

std::string Shape::why_not_intact(Netlink& netlink) const {
  if (const std::string error = attachment_->capture_error(); !error.empty())
    return "capture ended: " + error;
  const TrafficDivert& divert = attachment_->divert();
  const std::optional<Link> interface = netlink.find_link(divert.interface_index());
  if (!interface) return "interface " + config_.interface + " was deleted";
  if (std::string reason = why_another(netlink, config_.interface, *interface); !reason.empty())
    return reason;
  if (interface->mtu != divert.mtu()) return "its MTU changed to " + std::to_string(interface->mtu);
  const std::optional<Link> out = netlink.find_link(divert.transmit_index());
  if (!out) return "where it sends was deleted";
  if (!config_.forward_to.empty()) {
    if (std::string reason = why_another(netlink, config_.forward_to, *out); !reason.empty()) return reason;
  }
  if (out->mtu != divert.transmit_mtu()) return out->name + "'s MTU changed to " + std::to_string(out->mtu);
  for (const int index : {divert.device_index(), divert.peer_index()}) {
    const std::optional<Link> link = netlink.find_link(index);
    if (!link) return "its divert device was deleted";
    if ((link->flags & IFF_UP) == 0) return "its divert device " + link->name + " was set down";
    if (link->mtu != divert.device_mtu())
      return "the MTU of its divert device " + link->name + " changed to " + std::to_string(link->mtu);
  }
  return {};
}

// Packets wait unread for longer than the kernel's patience: it lets further ones pass by.
bool Shape::switch_is_open() const {
  return diverting() && attachment_->divert().unread_for(MonotonicClock().now()) > DrainHealth::kPatience;
}

void Shape::log_openings() {
  const UnshapedStatistics unshaped = losses().unshaped;
  if (switch_is_open() && !std::exchange(open_switch_logged_, true)) {
    log_(title() + ": packets are not read or not sent in time; the kernel lets them pass unshaped");
  }
  if (unshaped.times == openings_logged_) return;
  openings_logged_ = unshaped.times;
  open_switch_logged_ = false;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(unshaped.open).count();
  log_(title() + ": shaping again; packets passed unshaped for " + std::to_string(milliseconds) +
       " ms in all, " + std::to_string(unshaped.times) + (unshaped.times == 1 ? " time" : " times") +
       " so far");
}

bool Shape::check_progress() {
  log_openings();
  remove_closed_taps();
  return !attachment_ || attachment_->check_progress();
}

bool Shape::call(std::size_t worker, ShaperRequest request) {
  if (attachment_) {
    return attachment_->call(worker, [request = std::move(request)](Shaper& shaper, PacketSink&,
                                                                    Instant now) { request(shaper, now); });
  }
  request(workers_[worker]->shaper, clock_.now());
  return true;
}

// Of all workers. False: not all have answered.
bool Shape::change_taps(const std::function<void(PacketTaps& taps)>& change) {
  bool answered = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (attachment_) {
      answered = attachment_->change_taps(i, change) && answered;
      continue;
    }
    PacketTaps& taps = workers_[i]->taps;
    change(taps);
    workers_[i]->shaper.observe_drops(taps.empty() ? nullptr : &taps);
  }
  return answered;
}

void Shape::capture(const std::shared_ptr<PacketTap>& tap) {
  remove_closed_taps();
  const auto added = std::make_shared<std::atomic<std::size_t>>(0);
  captures_.push_back(tap);
  const bool answered = change_taps([added, tap, classifier = classifier_](PacketTaps& taps) {
    *added += taps.add(tap, classifier->classes()) ? 1 : 0;
  });
  if (answered && *added == workers_.size()) return;
  tap->close();
  throw std::runtime_error(answered ? "there are as many captures of " + title() + " as there may be"
                                    : "a drain thread of " + title() + " does not answer");
}

std::size_t Shape::captures() const {
  return static_cast<std::size_t>(
      std::count_if(captures_.begin(), captures_.end(), [](const auto& tap) { return !tap->closed(); }));
}

void Shape::remove_closed_taps() {
  std::erase_if(captures_, [this](const auto& tap) {
    return tap->closed() && change_taps([tap](PacketTaps& taps) { taps.remove(*tap); });
  });
}

Shape::Losses Shape::losses() const {
  Losses sum = past_losses_;
  if (attachment_) {
    const Attachment::Lost lost = attachment_->lost();
    sum.ring += lost.ring;
    sum.device += lost.device;
    const UnshapedStatistics unshaped = attachment_->divert().unshaped();
    sum.unshaped.packets += unshaped.packets;
    sum.unshaped.times += unshaped.times;
    sum.unshaped.open += unshaped.open;
  }
  return sum;
}

ShapeStatistics Shape::statistics() {
  std::string state = state_;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const auto reading = std::make_shared<ShaperReading>();
    const bool alone = workers_.size() == 1;
    if (call(i, [reading, alone](Shaper& shaper, Instant now) {
          *reading = alone ? ShaperReading{shaper.statistics(now), {}} : reading_of(shaper, now);
        })) {
      last_readings_[i] = std::move(*reading);
    } else {
      state = "a drain thread does not answer; these are its last figures";
    }
  }
  const Losses lost = losses();
  const bool open = switch_is_open();
  if (open && state.empty())
    state = "packets are not read or not sent in time; the dead-man switch lets them pass";
  if (state.empty()) state = bypass_;
  return ShapeStatistics{.interface = config_.interface,
                         .direction = config_.direction,
                         .diverting = diverting() && !open,
                         .state = state,
                         .divert = attachment_ ? attachment_->divert().method() : daemon_.divert,
                         .shaper = sum_of(last_readings_),
                         .lost_ring = lost.ring,
                         .lost_device = lost.device,
                         .unshaped = lost.unshaped,
                         .config = config_};
}

std::vector<FlowStatistics> Shape::largest_flows(ClassIndex class_index, std::size_t limit) {
  if (limit == 0) return {};
  struct Reading {
    std::vector<FlowStatistics> largest;  // a heap with the smallest on top
    std::optional<std::uint32_t> next = 0;
  };
  const auto size = [](const FlowStatistics& flow) {
    return flow.sent.packets + flow.dropped.packets + flow.queued.packets;
  };
  const auto larger = [size](const FlowStatistics& a, const FlowStatistics& b) { return size(a) > size(b); };
  const auto reading = std::make_shared<Reading>();
  const auto keep_if_large = [reading, limit, larger](const FlowStatistics& flow) {
    auto& heap = reading->largest;
    if (heap.size() == limit) {
      if (!larger(flow, heap.front())) return;
      std::pop_heap(heap.begin(), heap.end(), larger);
      heap.pop_back();
    }
    heap.push_back(flow);
    std::push_heap(heap.begin(), heap.end(), larger);
  };
  const auto read_some = [=](Shaper& shaper, Instant) {
    reading->next = shaper.visit_flows(class_index, *reading->next, kFlowRecordsPerCall, keep_if_large);
  };
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    reading->next = 0;
    while (reading->next) {
      if (!call(i, read_some)) return {};
    }
  }
  std::sort_heap(reading->largest.begin(), reading->largest.end(), larger);
  return reading->largest;
}

}  // namespace headgate
