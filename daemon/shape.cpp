#include "shape.hpp"

#include <pthread.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>

#include "config/match_expression.hpp"
#include "linux/real_time.hpp"

namespace headgate {

namespace {

constexpr Duration kCallPatience = std::chrono::milliseconds(200);
constexpr Duration kReconfigurePatience = std::chrono::seconds(2);
constexpr std::uint32_t kFlowRecordsPerCall = 4096;  // some 100 µs of the drain thread's time

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

bool takes_control(const ShapeConfig& config) {
  return std::any_of(config.classes.begin(), config.classes.end(),
                     [](const ClassConfig& c) { return c.control; });
}

const char* direction_text(Direction direction) {
  return direction == Direction::egress ? "egress" : "ingress";
}

}  // namespace

std::shared_ptr<const Classifier> make_classifier(const ShapeConfig& config, std::uint64_t hash_seed) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers;
  for (const ClassConfig& one : config.classes) {
    std::string error;
    matchers.push_back(one.match.empty() ? nullptr : compile_match(one.match, error));
    if (!error.empty()) throw std::runtime_error("class " + one.name + ": match: " + error);
  }
  return std::make_shared<const Classifier>(config.classes, std::move(matchers), hash_seed);
}

Shape::Shape(const DaemonConfig& daemon, const ShapeConfig& config, Log log)
    : log_(std::move(log)),
      config_(config),
      hash_seed_(random_seed()),
      state_("not started"),
      divert_(DivertOptions{.interface = config.interface,
                            .direction = config.direction,
                            .method = daemon.divert,
                            .mark = daemon.mark,
                            .divert_control = takes_control(config)}),
      ring_(PacketRingOptions{.interface_index = divert_.capture_index(), .mtu = divert_.mtu()}),
      transmitter_(PacketTransmitterOptions{.interface_index = divert_.interface_index(),
                                            .mark = daemon.mark,
                                            .qdisc_bypass = config.qdisc_bypass}),
      classifier_(make_classifier(config, hash_seed_)),
      shaper_(ShaperLimits{.memory = daemon.memory,
                           .max_flows = daemon.max_flows,
                           .idle = daemon.idle,
                           .hash_seed = hash_seed_},
              config.classes, clock_.now()),
      hand_off_(ring_.slots() + 16),  // and the entries that are no packets
      drain_loop_(hand_off_, ring_, transmitter_, waiter_, clock_, shaper_, classifier_),
      capture_loop_(ring_, hand_off_, waiter_, divert_, drain_loop_.health(), clock_, classifier_) {}

Shape::~Shape() {
  stop();
}

std::string Shape::title() const {
  return config_.interface + " " + direction_text(config_.direction);
}

void Shape::start() {
  drain_thread_ = std::thread([this] { drain(); });
  capture_thread_ = std::thread([this] { capture(); });
  divert_.attach();
  state_.clear();
}

void Shape::stop() {
  if (!capture_thread_.joinable()) return;
  divert_.detach();
  if (state_.empty()) state_ = "stopped";
  capture_loop_.stop();
  capture_thread_.join();
  drain_thread_.join();
}

void Shape::capture() {
  pthread_setname_np(pthread_self(), "hg-capture");
  set_timer_slack();
  try {
    capture_loop_.run();
  } catch (const std::exception& error) {
    capture_error_ = error.what();
    capture_failed_.store(true, std::memory_order_release);
  }
}

void Shape::drain() {
  pthread_setname_np(pthread_self(), "hg-drain");
  set_timer_slack();
  if (const std::string refusal = set_real_time_priority(); !refusal.empty()) {
    log_(title() + ": departures are timed by an ordinary thread, less exact under load: " + refusal);
  }
  drain_loop_.run();
}

void Shape::reconfigure(const ShapeConfig& config) {
  if (capture_failed_.load(std::memory_order_acquire)) {
    throw std::runtime_error(title() + ": cannot be changed, capture ended: " + capture_error_);
  }
  const auto classifier = make_classifier(config, hash_seed_);
  if (config.qdisc_bypass != config_.qdisc_bypass) transmitter_.set_qdisc_bypass(config.qdisc_bypass);
  reconfiguration_ = std::make_unique<Reconfiguration>(Reconfiguration{.classifier = classifier});
  std::future<void> done = reconfiguration_->done.get_future();
  capture_loop_.reconfigure(*reconfiguration_);
  if (done.wait_for(kReconfigurePatience) != std::future_status::ready) {
    throw std::runtime_error(title() + ": its threads do not take the new configuration");
  }
  done.get();
  divert_.set_divert_control(takes_control(config));
  classifier_ = classifier;
  config_ = config;
}

void Shape::open_host(const std::string& reason) {
  if (!divert_.attached()) return;
  divert_.detach();
  state_ = reason;
  log_(title() + ": traffic passes unshaped: " + reason);
}

void Shape::link_changed(const Link& link) {
  constexpr unsigned kUp = 1;  // IFF_UP
  const bool ours = link.index == divert_.device_index() || link.index == divert_.capture_index();
  if (ours && (link.flags & kUp) == 0) open_host("divert device " + link.name + " was set down");
}

void Shape::link_deleted(const Link& link) {
  if (link.index == divert_.device_index() || link.index == divert_.capture_index()) {
    open_host("divert device " + link.name + " was deleted");
  } else if (link.index == divert_.interface_index()) {
    open_host("interface " + link.name + " was deleted");
  }
}

bool Shape::check_progress() {
  if (capture_failed_.load(std::memory_order_acquire)) open_host("capture ended: " + capture_error_);
  if (!divert_.attached()) return true;
  // A packet that was diverted but lost on its way leaves the dead-man switch armed with nobody to reset it.
  if (divert_.unread_for(clock_.now()) > DrainHealth::kPatience) ring_.interrupt();
  const std::size_t consumed = hand_off_.consumed();
  const bool moves = consumed != last_consumed_ || consumed == hand_off_.published();
  last_consumed_ = consumed;
  return moves && !drain_loop_.health().overdue(clock_.now());
}

ShapeStatistics Shape::statistics() {
  auto snapshot = std::make_shared<ShaperStatistics>();
  std::string state = state_;
  if (drain_loop_.ended()) {
    last_statistics_ = shaper_.statistics(clock_.now());
  } else if (drain_loop_.call(
                 [snapshot](Shaper& shaper, PacketSink&, Instant now) { *snapshot = shaper.statistics(now); },
                 kCallPatience)) {
    last_statistics_ = *snapshot;
  } else {
    state = "the drain thread does not answer; these are its last figures";
  }
  return ShapeStatistics{.interface = config_.interface,
                         .direction = config_.direction,
                         .diverting = divert_.attached(),
                         .state = state,
                         .divert = divert_.method(),
                         .shaper = last_statistics_,
                         .lost_ring = ring_.lost(),
                         .lost_device = divert_.lost_device(),
                         .unshaped = divert_.passed_unshaped(),
                         .config = config_};
}

std::vector<FlowStatistics> Shape::largest_flows(ClassIndex class_index, std::size_t limit) {
  struct Reading {
    std::vector<FlowStatistics> largest;  // a heap with the smallest on top
    std::optional<std::uint32_t> next = 0;
  };
  const auto size = [](const FlowStatistics& flow) {
    return flow.sent.packets + flow.dropped.packets + flow.queued.packets;
  };
  const auto larger = [size](const FlowStatistics& a, const FlowStatistics& b) { return size(a) > size(b); };
  const auto reading = std::make_shared<Reading>();
  const auto read_some = [reading, class_index, limit, larger](Shaper& shaper, PacketSink&, Instant) {
    auto& heap = reading->largest;
    reading->next =
        shaper.visit_flows(class_index, *reading->next, kFlowRecordsPerCall, [&](const FlowStatistics& flow) {
          if (heap.size() == limit) {
            if (limit == 0 || !larger(flow, heap.front())) return;
            std::pop_heap(heap.begin(), heap.end(), larger);
            heap.pop_back();
          }
          heap.push_back(flow);
          std::push_heap(heap.begin(), heap.end(), larger);
        });
  };
  while (reading->next) {
    if (!drain_loop_.call(read_some, kCallPatience)) return {};
  }
  std::sort_heap(reading->largest.begin(), reading->largest.end(), larger);
  return reading->largest;
}

}  // namespace headgate
