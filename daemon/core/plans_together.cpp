// Plans whose members are together: the packets of all their addresses are in one flow, the plan's. What waits goes with its
// address when that joins such a plan or leaves it, so that a connection stays in order.
#include <algorithm>
#include <array>

#include "core/arrival_merge.hpp"
#include "core/classifier.hpp"
#include "core/header_parser.hpp"
#include "core/shaper_state.hpp"

namespace headgate {

void Shaper::gather_by_plan(ArrivingPacket& packet) const {
  state_->gather(packet);
}

bool ShaperState::gathers() const {
  return std::any_of(class_numbers.begin(), class_numbers.end(),
                     [this](ClassNumber number) { return classes[number]->gathers(); });
}

void ShaperState::gather(ArrivingPacket& packet) const {
  if (packet.class_index == kUnmatched || !class_at(packet.class_index).gathers()) return;
  const ClassPlans& plans = *class_at(packet.class_index).plans;
  const PlanNumber plan = plans.plan_of(packet.key);
  if (!plans.is_together(plan)) return;
  packet.key = plans.common_flows[plan].key;
  packet.flow_hash = plans.common_flows[plan].hash;
}

// No packet that comes has its key.
bool ShaperState::is_nobodys(FlowNumber flow) const {
  const ShapedClass& shaped = *classes[flows[flow].class_number];
  const FlowKey& key = flows.key(flow);
  if (is_plan_key(key)) return !shaped.plans || shaped.plans->plan_with(key) == kNoPlan;
  return shaped.gathers() && shaped.plans->is_together(shaped.plans->plan_of(key));
}

// Packets of addresses that have left the plan.
bool ShaperState::holds_others(FlowNumber flow) const {
  const FlowRecord& record = flows[flow];
  const ShapedClass& shaped = *classes[record.class_number];
  if (!is_plan_key(flows.key(flow)) || !shaped.plans->common_flows[record.generation].left) return false;
  for (PacketHandle packet = first_of(record.queue); packet != kNoPacket; packet = pool()[packet].next)
    if (shaped.plans->plan_of(address_key_of(packet)) != record.generation) return true;
  return false;
}

// As the classifier made it, of the frame as stored.
FlowKey ShaperState::address_key_of(PacketHandle packet) const {
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  const std::size_t count = pool().parts(packet, parts);
  std::array<std::byte, PacketPool::kChunkBytes> bytes;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < count && copied < bytes.size(); ++i) {
    const auto part = parts[i].first(std::min(parts[i].size(), bytes.size() - copied));
    std::copy(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(copied));
    copied += part.size();
  }
  const auto frame = std::span<const std::byte>(bytes).first(copied).subspan(std::min(frame_prefix, copied));
  return make_key(classes[pool()[packet].class_number]->config.key, parse_headers(frame));
}

void ShaperState::note_moved(ShapedClass& shaped) {
  shaped.moved = some_moved = true;
  look_up_all_plans();
}

// The class has other plans, or other members, than it had.
void ShaperState::note_new_members(ShapedClass& shaped) {
  const bool gathered = shaped.plans_before != nullptr && !shaped.plans_before->together.empty();
  if (!gathered && !shaped.gathers()) return;
  if (shaped.gathers())
    for (const PlanNumber plan : shaped.plans->together) shaped.plans->common_flows[plan].left = true;
  note_moved(shaped);
}

// Takes time in proportion to all flows that wait, and to what waits in plans that addresses have left.
void ShaperState::move_packets(Instant now) {
  for (const auto& shaped : classes)
    if (shaped && shaped->moved && shaped->in_tree()) leave_round_and_tree(*shaped, Rounds::to_wheel);
  PacketHandle packet = take_out_moved();
  some_moved = false;
  for (const auto& shaped : classes) {
    if (!shaped || !std::exchange(shaped->moved, false) || !shaped->plans) continue;
    for (ClassPlans::CommonFlow& each : shaped->plans->common_flows) each.left = false;
  }
  if (schedule->wheel.empty()) schedule->wheel.start_at(now);
  while (packet != kNoPacket) {
    const PacketHandle next = pool()[packet].next;
    move(packet, now);
    packet = next;
  }
  note_event();
}

// The queues that hold packets of another flow, as one chain in order of arrival.
PacketHandle ShaperState::take_out_moved() {
  ArrivalMerge merge(pool());
  const auto take_out = [&](FlowNumber flow) {
    if (!classes[flows[flow].class_number]->moved || (!is_nobodys(flow) && !holds_others(flow))) return false;
    merge.add(take_out_queue(flow));
    return true;
  };
  if (suspended) {
    for (FlowNumber flow = 0; flow < flows.numbers(); ++flow)
      if (flows.in_use(flow) && !flows[flow].queue.empty()) take_out(flow);
  } else {
    schedule->wheel.remove_if(
        [&](const TimingWheel::Item& item) { return item.shape == shape_number && take_out(item.flow); });
  }
  return merge.result();
}

// A packet that is in no queue any more goes where one that comes now would.
void ShaperState::move(PacketHandle packet, Instant now) {
  StoredPacket& stored = pool()[packet];
  const ShapedClass& shaped = *classes[stored.class_number];
  ArrivingPacket arriving;
  arriving.class_index = shaped.index;
  arriving.key = address_key_of(packet);
  arriving.flow_hash = hash_key(arriving.key, class_hash_seed(shaped.config.name, hash_seed));
  gather(arriving);
  stored.flow = kNoFlow;
  const FlowNumber flow = find_or_add_flow(arriving, now);
  if (flow == kNoFlow) return drop_queued(packet, DropReason::flow_table_full);
  readmit_to(flow, packet, false, now);
}

}  // namespace headgate
