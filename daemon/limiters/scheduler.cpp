// What comes and what goes. How a flow gets from place to place: scheduler_flows.cpp.
#include "headgate/scheduler.hpp"

#include <algorithm>

#include "limiters/scheduler_rules.hpp"
#include "limiters/scheduler_state.hpp"

namespace headgate {
namespace {

// Sums of a time and what a rate adds to it stay within 64 bits.
constexpr Instant kLastInstant{Duration{std::int64_t{1} << 61}};
constexpr Instant kFirstInstant{-kLastInstant.time_since_epoch()};

}  // namespace

Scheduler::State::FlowLimits::FlowLimits(const FlowRate& rate) {
  if (rate.packets) packets = RateLimit(*rate.packets, rate.burst_packets);
  if (rate.bits) bits = RateLimit(*rate.bits, rate.burst.bytes);
}

Scheduler::State::RunningClass::RunningClass(const Class& class_config, TreeNode tree_node)
    : config(class_config),
      limits(class_config.flow_rate),
      node(tree_node),
      round(static_cast<std::int32_t>(class_config.quantum)) {}

Scheduler::State::State(const Config& config)
    : now_(kFirstInstant),
      catch_up_(config.catch_up),
      first_class_(node_of_class(config, 0)),
      rates_(tree_nodes(config)),
      names_(config.max_flows, config.seed),
      queues_(config.max_flows, config.max_items),
      flows_(config.max_flows),
      turns_(config.max_flows),
      places_(config.max_flows) {
  upcoming_.reserve(config.max_flows);
  idle_.reserve(config.max_flows);
  classes_.reserve(config.classes.size());
  for (ClassNumber number = 0; number < config.classes.size(); ++number)
    classes_.emplace_back(config.classes[number], first_class_ + number);
}

Instant Scheduler::State::settle(Instant now) {
  return now_ = std::clamp(now, now_, kLastInstant);
}

Answer Scheduler::State::enqueue(Handle handle, const Flow& name, const Cost& cost, Instant instant) {
  const Instant now = settle(instant);
  if (name.of_class >= classes_.size()) return Refusal::unknown;
  RunningClass& its_class = classes_[name.of_class];
  const Cost charged{std::max<std::uint64_t>(1, cost.packets), std::max<std::uint64_t>(1, cost.bytes)};
  const FlowNumber known = names_.find(name);
  if (const Answer answer = refusal(its_class, known, charged); !answer) return answer;
  const FlowNumber flow = find_or_add(known, name);
  if (flow == FlowNames::kNone) return Refusal::no_room;
  const bool first = queues_.empty(flow);
  queues_.push(flow, {handle, now, static_cast<std::uint32_t>(charged.packets),
                      static_cast<std::uint32_t>(charged.bytes)});
  if (first) begin(its_class, flow);
  return {};
}

std::optional<Scheduler::Departure> Scheduler::State::dequeue(Instant now) {
  settle(now);
  release_upcoming();
  while (const RateTree::Turn turn = rates_.next(now_)) {
    RunningClass& sender = classes_[turn.node - first_class_];
    const FlowNumber flow = sender.round.first(turns_);
    if (queues_.empty(flow) || flows_[flow].earliest > now_) {
      pass_over(sender, flow);
      continue;
    }
    if (const auto reason = reason_to_drop(sender, flow)) return drop(sender, flow, *reason);
    return send(turn, sender, flow);
  }
  return std::nullopt;
}

std::optional<Instant> Scheduler::State::next_event() const {
  const std::optional<Instant> turn = rates_.next_event();
  if (upcoming_.empty()) return turn;
  const Instant due{Duration{upcoming_.first().key}};
  return turn ? std::min(*turn, due) : due;
}

Answer Scheduler::State::refusal(const RunningClass& its_class, FlowNumber flow, const Cost& cost) const {
  const Queue& queue = its_class.config.queue;
  const auto beyond = [&](std::uint64_t bytes) { return queue.bytes && bytes > queue.bytes->bytes; };
  if (cost.packets > kMostUnits || cost.bytes > kMostUnits || beyond(cost.bytes)) return Refusal::too_many;
  if (flow != FlowNames::kNone) {
    if (queues_.items(flow) >= queue.items) return Refusal::not_now;
    if (beyond(queues_.cost(flow).bytes + cost.bytes)) return Refusal::not_now;
  }
  return queues_.full() ? Refusal::no_room : Refusal::none;
}

// Both reasons are judged when the item's turn has come, so each item once.
std::optional<Scheduler::Verdict> Scheduler::State::reason_to_drop(const RunningClass& sender,
                                                                   FlowNumber flow) {
  const QueuedItem& item = queues_.front(flow);
  const Duration waited = now_ - item.arrival;
  const auto& longest = sender.config.queue.longest_wait;
  if (longest && waited > *longest) return Verdict::too_old;
  if (!sender.config.codel) return std::nullopt;
  const Duration least = least_codel_target(sender.limits, item.cost());
  const bool last = queues_.items(flow) == 1;
  const headgate::Codel::Law law{.target = std::max(sender.config.codel->target, least),
                                 .interval = sender.config.codel->interval};
  if (turns_[flow].codel.is_one_too_many(waited, last, law, now_)) return Verdict::congested;
  return std::nullopt;
}

Scheduler::Departure Scheduler::State::drop(RunningClass& sender, FlowNumber flow, Verdict verdict) {
  const Handle handle = give_up_first(flow);
  advance(sender, flow);
  if (sender.ready == 0) rates_.end(sender.node);
  return {handle, verdict, now_};
}

Scheduler::Departure Scheduler::State::send(const RateTree::Turn& turn, RunningClass& sender,
                                            FlowNumber flow) {
  const QueuedItem item = queues_.front(flow);
  RunningFlow& running = flows_[flow];
  const Instant departure = std::max(rates_.departure(turn, running.earliest, now_), now_ - catch_up_);
  running.left = std::max(running.earliest, departure);
  running.bucket.commit(sender.limits, item.cost(), running.left);
  queues_.pop(flow);
  Round::charge(turns_[flow], item.bytes);
  const Instant left = running.left;
  advance(sender, flow);
  rates_.sent(turn, item.bytes, bytes_behind(sender, item.bytes), departure, now_);
  return {item.handle, Verdict::send, left};
}

// Of the item that is likely the class's next; 0: there is none.
std::uint64_t Scheduler::State::bytes_behind(const RunningClass& sender, std::uint64_t bytes) const {
  if (sender.ready == 0) return 0;
  const FlowNumber next = sender.round.likely_first();
  return queues_.empty(next) ? bytes : queues_.front(next).bytes;
}

std::optional<Scheduler::Handle> Scheduler::State::drain() {
  while (drained_ < flows_.size() && queues_.empty(drained_)) ++drained_;
  if (drained_ < flows_.size()) return take_out(drained_);
  drained_ = 0;
  return std::nullopt;
}

std::optional<Scheduler::Handle> Scheduler::State::drain(const Flow& name) {
  const FlowNumber flow = names_.find(name);
  if (flow == FlowNames::kNone || queues_.empty(flow)) return std::nullopt;
  return take_out(flow);
}

Scheduler::Scheduler(const Config& config) {
  check(config);
  state_ = std::make_unique<State>(config);
}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&& other) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&& other) noexcept = default;

Answer Scheduler::enqueue(Handle handle, const Flow& flow, const Cost& cost, Instant now) {
  return state_->enqueue(handle, flow, cost, now);
}

std::optional<Scheduler::Departure> Scheduler::dequeue(Instant now) {
  return state_->dequeue(now);
}

std::optional<Instant> Scheduler::next_event() const {
  return state_->next_event();
}

std::optional<Scheduler::Handle> Scheduler::drain() {
  return state_->drain();
}

std::optional<Scheduler::Handle> Scheduler::drain(const Flow& flow) {
  return state_->drain(flow);
}

std::uint32_t Scheduler::items() const {
  return state_->queues().items();
}

std::uint32_t Scheduler::flows() const {
  return state_->names().flows();
}

Cost Scheduler::queued(const Flow& flow) const {
  const std::uint32_t known = state_->names().find(flow);
  return known == FlowNames::kNone ? Cost{} : state_->queues().cost(known);
}

std::uint32_t Scheduler::items(const Flow& flow) const {
  const std::uint32_t known = state_->names().find(flow);
  return known == FlowNames::kNone ? 0 : state_->queues().items(known);
}

}  // namespace headgate
