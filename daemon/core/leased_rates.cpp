// Rates that hold for a time: put in force, and ended by the worker itself, so that one that was stopped and goes on does not
// send by a rate whose time is over.
#include <algorithm>
#include <cassert>
#include <utility>

#include "core/classifier.hpp"
#include "core/schedule.hpp"
#include "core/schedule_state.hpp"
#include "core/shaper_state.hpp"

namespace headgate {
namespace {

TreeNode node_of(const RatePlace& place, const ShapeTree& tree) {
  switch (place.kind) {
    case RatePlace::Kind::link:
      return kLink;
    case RatePlace::Kind::group:
      return static_cast<TreeNode>(1 + place.group);
    default:
      return tree.node_of[place.class_index];
  }
}

}  // namespace

void Shaper::lease(const LeasedRate& lease, Instant now) {
  state_->lease(lease, now);
}

void ShaperState::lease(const LeasedRate& lease, Instant now) {
  const bool over = lease.until <= now;
  set_rate(lease.place, over ? lease.after : lease.rate, now);
  std::erase_if(leases, [&](const LeaseEnd& end) { return end.place == lease.place; });
  if (!over && lease.until != Instant::max()) {
    leases.push_back({.place = lease.place, .until = lease.until, .after = lease.after});
    schedule->next_lease_end = std::min(schedule->next_lease_end, lease.until);
  }
  if (lease.in_force) lease.in_force->store(lease.serial, std::memory_order_release);
}

void Schedule::end_leases(Instant now) {
  ScheduleState& state = *state_;
  if (now < state.next_lease_end) [[likely]]
    return;
  state.next_lease_end = Instant::max();
  for (ShaperState* shape : state.shapes)
    if (shape != nullptr) state.next_lease_end = std::min(state.next_lease_end, shape->end_leases(now));
}

// Returns when the next one ends.
Instant ShaperState::end_leases(Instant now) {
  Instant next = Instant::max();
  for (const LeaseEnd& lease : leases) {
    if (lease.until <= now)
      set_rate(lease.place, lease.after, now);
    else
      next = std::min(next, lease.until);
  }
  std::erase_if(leases, [now](const LeaseEnd& lease) { return lease.until <= now; });
  return next;
}

void ShaperState::set_rate(const RatePlace& place, const Rate& rate, Instant now) {
  if (place.kind == RatePlace::Kind::bucket) return set_bucket_rate(class_at(place.class_index), rate, now);
  if (place.kind == RatePlace::Kind::plan)
    return set_plan_rate(class_at(place.class_index), place.plan, rate, now);
  assert(rate.bits);
  if (!tree) return;
  tree->rates.set_ceiling(node_of(place, *tree), *rate.bits, now);
  note_event();
}

// The configuration says the new rate, too, so that a reconfiguration sees what differs from it. The class has no key, so
// that it has one flow at most.
void ShaperState::set_bucket_rate(ShapedClass& shaped, const Rate& rate, Instant now) {
  assert(!shaped.polices && !shaped.plans);
  if (shaped.config.rate == rate) return;
  const std::uint32_t hash = hash_key({}, class_hash_seed(shaped.config.name, hash_seed));
  const FlowNumber flow = flows.find(hash, class_numbers[shaped.index], {});
  FlowBucket* const bucket = flow == kNoFlow ? nullptr : &bucket_of(flows[flow], shaped, now);
  shaped.config.rate = rate;
  shaped.parameters_before = std::exchange(shaped.parameters, bucket_parameters(shaped.config));
  ++shaped.generation;
  if (bucket == nullptr) return;
  bucket->change_rate(shaped.parameters_before, shaped.parameters, now);
  flows[flow].generation = shaped.generation;
}

// Likewise.
void ShaperState::set_plan_rate(ShapedClass& shaped, PlanNumber plan, const Rate& rate, Instant now) {
  assert(shaped.plans && shaped.plans->is_together(plan));
  PlanConfig& config = shaped.config.plans[plan];
  if (config.rate == rate) return;
  config.rate = rate;
  const BucketParameters before = std::exchange(
      shaped.plans->parameters[plan], BucketParameters(rate, config.burst, shaped.config.link_layer));
  if (const FlowNumber flow = common_flow_of(shaped, plan); flow != kNoFlow)
    flows[flow].bucket.change_rate(before, shaped.plans->parameters[plan], now);
}

// Before another configuration of it. What goes by a budget as before goes over to its new rate as at the end of a lease, so
// that no reload gives a burst back.
void ShaperState::end_lease_of(ShapedClass& shaped, const ClassConfig& config, Instant now) {
  if (!config.budget.empty() && config.budget == shaped.config.budget && !shaped.plans && !shaped.polices)
    set_bucket_rate(shaped, config.rate, now);
  if (!shaped.plans) return;
  for (const PlanConfig& plan : config.plans) {
    const auto& before = shaped.config.plans;
    const auto same = std::find_if(before.begin(), before.end(), [&plan](const PlanConfig& each) {
      return !plan.budget.empty() && each.budget == plan.budget && each.name == plan.name && each.together;
    });
    if (same != before.end())
      set_plan_rate(shaped, static_cast<PlanNumber>(same - before.begin()), plan.rate, now);
  }
}

FlowNumber ShaperState::common_flow_of(const ShapedClass& shaped, PlanNumber plan) const {
  const ClassPlans::CommonFlow& common = shaped.plans->common_flows[plan];
  return flows.find(common.hash, class_numbers[shaped.index], common.key);
}

RateDemand Shaper::demand(const RatePlace& place) const {
  return state_->demand(place);
}

RateDemand ShaperState::demand(const RatePlace& place) const {
  RateDemand all;
  const auto add = [&all](const ShapedClass& shaped) {
    const auto on_link = [&shaped](const Count& count) {
      return Cost{count.packets, shaped.parameters.link_bytes({count.packets, count.bytes})};
    };
    all.received += on_link(shaped.counters.received);
    all.queued += on_link(shaped.counters.queued);
  };
  if (place.kind == RatePlace::Kind::plan) {
    const ShapedClass& shaped = class_at(place.class_index);
    const FlowNumber flow = common_flow_of(shaped, place.plan);
    if (flow == kNoFlow) return all;
    const Cost queued = queued_in(flows[flow].queue);
    Count received = flows[flow].sent;
    received += flows.dropped(flow);
    received += queued;
    const auto on_link = [&shaped](const Cost& cost) {
      return Cost{cost.packets, shaped.parameters.link_bytes(cost)};
    };
    return {.received = on_link({received.packets, received.bytes}), .queued = on_link(queued)};
  }
  if (place.kind == RatePlace::Kind::bucket || place.kind == RatePlace::Kind::ceiling) {
    add(class_at(place.class_index));
    return all;
  }
  if (!tree) return all;
  for (std::size_t i = 0; i < class_numbers.size(); ++i)
    if (tree->node_of[i] != kNoNode && tree->rates.is_below(tree->node_of[i], node_of(place, *tree)))
      add(class_at(static_cast<ClassIndex>(i)));
  return all;
}

}  // namespace headgate
