#include "shape.hpp"

#include <net/if.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>

#include "config/match_expression.hpp"

namespace headgate {

namespace {

constexpr std::uint32_t kFlowRecordsPerCall = 4096;

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::shared_ptr<const Classifier> make_classifier(const ShapeConfig& config, std::uint64_t hash_seed) {
  std::vector<std::unique_ptr<PacketMatcher>> matchers;
  for (const ClassConfig& one : config.classes) {
    std::string error;
    matchers.push_back(one.match.empty() ? nullptr : compile_match(one.match, error));
    if (!error.empty()) throw std::runtime_error(title_of(config) + ": class " + one.name + ": match: " + error);
  }
  return std::make_shared<const Classifier>(config.classes, std::move(matchers), hash_seed);
}

}  // namespace

Shape::Shape(const DaemonConfig& daemon, const ShapeConfig& config, Attachment::Log log)
    : log_(std::move(log)),
      config_(config),
      hash_seed_(random_seed()),
      shaper_(ShaperLimits{.memory = daemon.memory,
                           .max_flows = daemon.max_flows,
                           .idle = daemon.idle},
              config.classes, clock_.now()),
      attachment_(daemon, config, make_classifier(config, hash_seed_), shaper_, log_) {}

Shape::~Shape() { stop(); }

void Shape::start() {
  running_ = true;
  attachment_.start();
  state_.clear();
}

void Shape::stop() {
  attachment_.stop(Attachment::Queued::send);
  if (std::exchange(running_, false)) state_ = "stopped";
}

void Shape::check_classes(const ShapeConfig& config) { make_classifier(config, 0); }

void Shape::reconfigure(const ShapeConfig& config) {
  attachment_.reconfigure(config, make_classifier(config, hash_seed_));
  config_ = config;
}

void Shape::open_host(const std::string& reason) {
  if (!attachment_.diverting()) return;
  attachment_.detach();
  state_ = reason;
  log_(title() + ": traffic passes unshaped: " + reason);
}

bool Shape::uses_link(int index) const {
  const TrafficDivert& divert = attachment_.divert();
  return index == divert.interface_index() || index == divert.device_index() || index == divert.capture_index();
}

void Shape::recheck_links(Netlink& netlink) {
  const TrafficDivert& divert = attachment_.divert();
  if (!netlink.find_link(divert.interface_index())) open_host("interface " + config_.interface + " was deleted");
  for (const int index : {divert.device_index(), divert.capture_index()}) {
    const std::optional<Link> link = netlink.find_link(index);
    if (!link) {
      open_host("its divert device was deleted");
    } else if ((link->flags & IFF_UP) == 0) {
      open_host("its divert device " + link->name + " was set down");
    }
  }
}

bool Shape::check_progress() {
  if (const std::string error = attachment_.capture_error(); !error.empty()) open_host("capture ended: " + error);
  return !attachment_.diverting() || attachment_.check_progress();
}

ShapeStatistics Shape::statistics() {
  std::string state = state_;
  const auto snapshot = std::make_shared<ShaperStatistics>();
  if (!running_) {
    last_statistics_ = shaper_.statistics(clock_.now());
  } else if (attachment_.call(
                 [snapshot](Shaper& shaper, PacketSink&, Instant now) { *snapshot = shaper.statistics(now); })) {
    last_statistics_ = *snapshot;
  } else {
    state = "the drain thread does not answer; these are its last figures";
  }
  const TrafficDivert& divert = attachment_.divert();
  return ShapeStatistics{.interface = config_.interface,
                         .direction = config_.direction,
                         .diverting = divert.attached(),
                         .state = state,
                         .divert = divert.method(),
                         .shaper = last_statistics_,
                         .lost_ring = attachment_.lost_ring(),
                         .lost_device = divert.lost_device(),
                         .unshaped = divert.passed_unshaped(),
                         .config = config_};
}

std::vector<FlowStatistics> Shape::largest_flows(ClassIndex class_index, std::size_t limit) {
  if (!running_ || limit == 0) return {};
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
  while (reading->next) {
    const bool answered = attachment_.call([=](Shaper& shaper, PacketSink&, Instant) {
      reading->next = shaper.visit_flows(class_index, *reading->next, kFlowRecordsPerCall, keep_if_large);
    });
    if (!answered) return {};
  }
  std::sort_heap(reading->largest.begin(), reading->largest.end(), larger);
  return reading->largest;
}

}  // namespace headgate
