// What would become of a packet that came now: asked of what admission and departure go by, and nothing of it changed.
#include <algorithm>
#include <cassert>

#include "core/shaper.hpp"
#include "core/shaper_state.hpp"
#include "core/traffic_class.hpp"

namespace headgate {
namespace {

Count count_of(const Cost& cost) {
  return {cost.packets, cost.bytes};
}

void note_drop(FlowOutlook& outlook, DropReason reason) {
  outlook.fate = Fate::dropped;
  outlook.reason = reason;
}

void note_wait(FlowOutlook& outlook, Duration wait) {
  outlook.wait = std::max(wait, Duration::zero());
  outlook.fate = outlook.wait > Duration::zero() ? Fate::waits : Fate::leaves;
}

Instant departure_behind(WaitingPackets waiting, const BucketParameters& parameters,
                         const ArrivingPacket& packet) {
  return waiting.departure_behind(parameters, packet);
}

// Which of the two rates lets the packet go last.
HeldBy later_rate(const WaitingPackets& waiting, const BucketParameters& parameters,
                  const ArrivingPacket& packet) {
  if (!parameters.bits.set()) return HeldBy::packet_rate;
  BucketParameters packets_alone = parameters;
  packets_alone.bits = RateLimit();
  const bool packets_decide = parameters.packets.set() && departure_behind(waiting, packets_alone, packet) ==
                                                              departure_behind(waiting, parameters, packet);
  return packets_decide ? HeldBy::packet_rate : HeldBy::bit_rate;
}

}  // namespace

FlowOutlook Shaper::explain(const ArrivingPacket& packet, Instant now) const {
  const ShaperState& state = *state_;
  assert(state.schedule != nullptr && packet.class_index < state.class_numbers.size());
  const ShapedClass& shaped = state.class_at(packet.class_index);
  const ClassNumber class_number = state.class_numbers[packet.class_index];
  const FlowNumber flow = state.flows.find(packet.flow_hash, class_number, packet.key);
  FlowOutlook outlook{.known = flow != kNoFlow, .queued_in_class = shaped.counters.queued};
  FlowRecord record;
  if (outlook.known) {
    record = state.flows[flow];
    outlook.sent = record.sent;
    outlook.dropped = state.flows.dropped(flow);
    outlook.queued = count_of(state.queued_in(record.queue));
  } else {
    record.class_number = class_number;
    record.generation = shaped.generation_of(packet.key);
  }
  if (shaped.plans) outlook.plan = record.generation;
  outlook.leased = state.leased_rate_of(shaped, record);
  if (!outlook.known && !state.would_find_record(now)) {
    note_drop(outlook, DropReason::flow_table_full);
  } else if (shaped.in_tree()) {
    state.explain_in_tree(record, packet, now, outlook);
  } else if (shaped.polices) {
    state.explain_policing(record, packet, now, outlook);
  } else {
    state.explain_bucket(record, packet, now, outlook);
  }
  return outlook;
}

std::optional<Rate> ShaperState::leased_rate_of(const ShapedClass& shaped, const FlowRecord& record) const {
  if (shaped.has_plan(record)) {
    const PlanConfig& plan = shaped.config.plans[record.generation];
    return plan.budget.empty() ? std::nullopt : std::optional(plan.rate);
  }
  return shaped.config.budget.empty() ? std::nullopt : std::optional(shaped.config.rate);
}

void ShaperState::explain_bucket(const FlowRecord& record, const ArrivingPacket& packet, Instant now,
                                 FlowOutlook& outlook) const {
  const ShapedClass& shaped = *classes[record.class_number];
  const BucketParameters& parameters = shaped.parameters_of(record);
  const WaitingPackets waiting = waiting_when_let_go(record, shaped, packet.arrival, now);
  const Instant opens = waiting.bucket.earliest(parameters, packet.cost(), packet.arrival);
  outlook.bucket_opens_in = opens - packet.arrival;
  const Instant departure = departure_behind(waiting, parameters, packet);
  note_wait(outlook, departure - packet.arrival);
  outlook.wait_is_exact = !waiting.first_leaves || !parameters.packets.set() || !parameters.bits.set();
  if (outlook.fate == Fate::waits) outlook.held_by = later_rate(waiting, parameters, packet);
  if (!surely_has_room(record, shaped, packet.cost()) && !has_room(record, shaped, waiting, packet))
    note_drop(outlook, DropReason::queue_full);
  else if (!would_find_memory(record, packet))
    note_drop(outlook, DropReason::pool_full);
}

// As let_go() leaves it.
WaitingPackets ShaperState::waiting_when_let_go(const FlowRecord& record, const ShapedClass& shaped,
                                                Instant by, Instant now) const {
  WaitingPackets waiting = waiting_at(record, shaped, by, now);
  const BucketParameters& parameters = shaped.parameters_of(record);
  PacketHandle first = first_waiting_in(record.queue);
  while (waiting.first_leaves && *waiting.first_leaves <= by) {
    const StoredPacket& stored = pool()[first];
    waiting.bucket.commit(parameters, stored.cost(), *waiting.first_leaves);
    waiting.cost.packets -= stored.cost().packets;
    waiting.cost.bytes -= stored.cost().bytes;
    first = stored.next;
    if (first == kNoPacket) {
      waiting.first_leaves.reset();
      break;
    }
    const StoredPacket& next = pool()[first];
    const Instant leaves = waiting.bucket.earliest(parameters, next.cost(), next.earliest);
    waiting.first_leaves = std::max({leaves, *waiting.first_leaves, now - kMaxCatchUp});
  }
  return waiting;
}

// Its bucket first, if it has one, then the tree: which of several sends is decided when the packet could leave.
void ShaperState::explain_in_tree(const FlowRecord& record, const ArrivingPacket& packet, Instant now,
                                  FlowOutlook& outlook) const {
  const ShapedClass& shaped = *classes[record.class_number];
  const BucketParameters& parameters = shaped.parameters_of(record);
  const QueueCapacity& capacity = shaped.queue_of(record);
  const WaitingPackets waiting = waiting_at(record, shaped, packet.arrival, now);
  const Instant by_bucket = departure_behind(waiting, parameters, packet);
  if (shaped.has_buckets())
    outlook.bucket_opens_in =
        waiting.bucket.earliest(parameters, packet.cost(), packet.arrival) - packet.arrival;
  const TreeNode held_by = tree->rates.held_by(shaped.node, now);
  const Instant alone = tree->rates.departure_alone(shaped.node, packet.arrival);
  outlook.wait_is_exact = tree->rates.idle() && !waiting.first_leaves && by_bucket <= packet.arrival &&
                          (alone <= packet.arrival || nothing_waits_in_tree());
  if (outlook.wait_is_exact) {
    note_wait(outlook, alone - packet.arrival);
  } else {
    note_wait(outlook, by_bucket - packet.arrival);
    outlook.fate = Fate::waits;
    outlook.held_by = outlook.wait > Duration::zero() && held_by == kNoNode
                          ? later_rate(waiting, parameters, packet)
                          : HeldBy::turn;
  }
  if (outlook.fate == Fate::waits && held_by != kNoNode) {
    outlook.held_by = HeldBy::ceiling;
    outlook.ceiling = name_of(held_by);
    outlook.ceiling_rate = tree->rates.ceiling(held_by);
  }
  if (!fits(capacity, queued_in(record.queue), packet.cost()))
    note_drop(outlook, DropReason::queue_full);
  else if (!would_find_memory(record, packet))
    note_drop(outlook, DropReason::pool_full);
  else if (outlook.wait_is_exact && capacity.time && outlook.wait > *capacity.time)
    note_drop(outlook, DropReason::too_old);
}

// Nor for a bucket: whose opens first may go first.
bool ShaperState::nothing_waits_in_tree() const {
  return std::all_of(classes.begin(), classes.end(), [](const auto& shaped) {
    return !shaped || !shaped->in_tree() || shaped->counters.queued.packets == 0;
  });
}

void ShaperState::explain_policing(const FlowRecord& record, const ArrivingPacket& packet, Instant now,
                                   FlowOutlook& outlook) const {
  Policer policer = *classes[record.class_number]->policer;
  const Instant at = policer.judged_at(std::max(packet.arrival, now - kMaxCatchUp));
  if (!policer.conforms(record.bucket, packet.cost(), at)) {
    if (!policer.exceed_dscp() || !traffic_class_of(packet.frame))
      return note_drop(outlook, DropReason::policed);
    outlook.fate = Fate::leaves_marked;
  }
  if (!would_find_memory(record, packet)) note_drop(outlook, DropReason::pool_full);
}

bool ShaperState::would_find_record(Instant now) const {
  if (budget->has_flow() && !flows.full()) return true;
  return outstanding == 0 &&
         flows.would_expire(kLooksWhenFull, now, [this, since = now - kMaxCatchUp](const FlowRecord& record) {
           return as_new(record, since);
         });
}

bool ShaperState::would_find_memory(const FlowRecord& record, const ArrivingPacket& packet) const {
  const std::uint32_t chunks = chunks_for(packet);
  return budget->has_chunks(chunks) || another_pays(record, chunks);
}

}  // namespace headgate
