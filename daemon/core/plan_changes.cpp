// Flows whose plan changes: their buckets go over to its rate, and what waits first keeps its time.
#include <algorithm>
#include <cassert>
#include <utility>

#include "core/shaper_state.hpp"

namespace headgate {

void Shaper::change_member(ClassIndex class_index, MemberUpdate& update, Instant now) {
  state_->change_member(state_->class_at(class_index), update, now);
}

void ShaperState::change_member(ShapedClass& shaped, Shaper::MemberUpdate& update, Instant now) {
  assert(shaped.plans);
  ClassPlans& plans = *shaped.plans;
  const PlanNumber before = plans.members.plan_of(update.member.prefix);
  if (update.table) std::swap(plans.members, *update.table);
  plans.members.put(update.member);
  plans.changed = true;
  const PlanNumber after = plans.members.plan_of(update.member.prefix);
  if (before != after && plans.is_together(before)) plans.common_flows[before].left = true;
  if (before != after && (plans.is_together(before) || plans.is_together(after))) note_moved(shaped);
  if (!update.key) {
    look_up_all_plans();
    return;
  }
  const FlowNumber flow = flows.find(update.hash, class_numbers[shaped.index], *update.key);
  if (flow != kNoFlow) look_up_plan(flow, now);
}

void ShaperState::look_up_plan(FlowNumber flow, Instant now) {
  FlowRecord& record = flows[flow];
  const ShapedClass& shaped = *classes[record.class_number];
  if (is_nobodys(flow) && record.queue.empty() && outstanding == 0) return erase_flow(flow);
  if (!shaped.plans) return;
  const PlanNumber plan = shaped.plans->plan_of(flows.key(flow));
  if (plan == record.generation) return;
  const BucketParameters& before = shaped.parameters_of(record);
  record.generation = plan;
  record.bucket.change(before, shaped.parameters_of(record), now);
}

void ShaperState::look_up_all_plans() {
  plans_unseen = plans_among = flows.numbers();
}

// Round and round, as flows come and go meanwhile: each that was there at the change is seen once at least.
void ShaperState::look_up_plans(std::uint32_t looks, Instant now) {
  if (schedule == nullptr) return;
  if (some_moved) move_packets(now);
  plans_unseen += flows.numbers() - plans_among;
  plans_among = flows.numbers();
  for (looks = std::min(looks, plans_unseen); looks > 0; --looks, --plans_unseen) {
    next_of_plans = next_of_plans + 1 < flows.numbers() ? next_of_plans + 1 : 0;
    if (flows.in_use(next_of_plans)) look_up_plan(next_of_plans, now);
  }
}

// In classes that a reconfiguration gave plans, or other plans, or none.
void ShaperState::change_planned_flows(Instant now) {
  for (FlowNumber flow = 0; flow < flows.numbers(); ++flow) {
    if (!flows.in_use(flow)) continue;
    FlowRecord& record = flows[flow];
    const ShapedClass& shaped = *classes[record.class_number];
    if (!shaped.plans_are_new) continue;
    const bool had_plan = shaped.plans_before != nullptr && record.generation != kNoPlan;
    const BucketParameters& before =
        had_plan ? shaped.plans_before->parameters[record.generation] : shaped.parameters_before;
    record.generation = shaped.generation_of(flows.key(flow));
    record.bucket.change(before, shaped.parameters_of(record), now);
  }
  for (const auto& shaped : classes) {
    if (!shaped) continue;
    if (shaped->plans_are_new) note_new_members(*shaped);
    shaped->plans_are_new = false;
    shaped->plans_before = nullptr;
  }
}

}  // namespace headgate
