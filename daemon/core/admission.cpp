// What arrives: to its flow, its queue and its place in the packet memory, or dropped.
#include <algorithm>
#include <array>
#include <cassert>

#include "core/shaper.hpp"
#include "core/shaper_state.hpp"

namespace headgate {
namespace {

// Batch size when memory is fetched ahead. 16 measured best of 16, 24, 32 and 64.
constexpr std::size_t kFetchedAtOnce = 16;

// How fast the expiry hand moves: records looked at for each packet, at least one a batch, and in search of a record for
// a new flow when there is none.
constexpr std::uint32_t kPacketsPerLook = 4;

// Flow records whose plan is looked up anew with each batch, after a change.
constexpr std::uint32_t kPlansAtOnce = 64;

}  // namespace

void Shaper::admit(std::span<const ArrivingPacket> packets, Instant now, Frames frames) {
  ShaperState& state = *state_;
  if (packets.empty()) return;
  assert(state.schedule != nullptr && !state.suspended);
  state.expire_flows(1 + static_cast<std::uint32_t>(packets.size()) / kPacketsPerLook, now, state.idle);
  if (state.plans_unseen > 0) [[unlikely]]
    state.look_up_plans(kPlansAtOnce, now);
  TimingWheel& wheel = state.schedule->wheel;
  if (wheel.empty()) wheel.start_at(std::min(packets.front().arrival, now));
  if (state.schedule->flows > kFlowsInCache)
    for (const ArrivingPacket& packet : packets) state.flows.prefetch_cell(packet.flow_hash);
  if (state.classes.size() > kClassesInCache) state.prefetch_classes(packets);
  while (!packets.empty()) {
    const bool in_cache = state.schedule->flows <= kFlowsInCache;
    const auto batch = packets.first(std::min(packets.size(), in_cache ? kBatch : kFetchedAtOnce));
    state.admit_batch(batch, now, frames);
    packets = packets.subspan(batch.size());
  }
}

// What each packet will touch hangs on what the one before it in the chain says: index, record, queue, last packet. So
// all packets go one step of the chain together, and their cache misses overlap.
void ShaperState::admit_batch(std::span<const ArrivingPacket> batch, Instant now, Shaper::Frames frames) {
  const bool in_cache = schedule->flows <= kFlowsInCache;
  if (!in_cache) pool().prefetch_free(static_cast<std::uint32_t>(batch.size()));
  std::array<FlowNumber, kBatch> likely;
  for (std::size_t i = 0; i < batch.size(); ++i) likely[i] = flows.likely(batch[i].flow_hash);
  if (!in_cache) prefetch_queues(std::span(likely).first(batch.size()));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ArrivingPacket& packet = batch[i];
    const bool sure =
        likely[i] != kNoFlow && flows.holds(likely[i], class_numbers[packet.class_index], packet.key);
    admit(packet, sure ? likely[i] : find_or_add_flow(packet, now), now, frames);
  }
}

// Flattened, as is what releases: a packet's way is cut into functions for the reader, whose calls would cost it a tenth of
// its instructions.
[[gnu::flatten]] void ShaperState::admit(const ArrivingPacket& packet, FlowNumber flow, Instant now,
                                         Shaper::Frames frames) {
  assert(packet.class_index < class_numbers.size() && !class_at(packet.class_index).config.bypass);
  ShapedClass& shaped = class_at(packet.class_index);
  const Cost cost = packet.cost();
  shaped.counters.received += cost;
  if (flow == kNoFlow) return drop(packet, flow, DropReason::flow_table_full);
  FlowRecord& record = flows[flow];
  record.last_used = now;
  if (shaped.in_tree()) return admit_in_tree(packet, flow, frames);
  if (shaped.polices) [[unlikely]]
    return police(packet, flow, now, frames);
  if (!make_place(record.queue)) return drop(packet, flow, DropReason::pool_full);
  if (!surely_has_room(record, shaped, cost)) {
    let_go(flow, packet.arrival, now);
    if (!has_room(record, shaped, packet, now))
      return drop(packet, flow, packet.late ? DropReason::starved : DropReason::queue_full);
  }
  const PacketHandle stored = store(record, packet, frames);
  if (stored == kNoPacket) return drop(packet, flow, DropReason::pool_full);
  shaped.counters.queued += cost;
  enqueue(flow, stored);
}

// Its headers may be changed before it leaves, so its frame is never lent.
[[gnu::flatten]] void ShaperState::admit_in_tree(const ArrivingPacket& packet, FlowNumber flow,
                                                 Shaper::Frames frames) {
  FlowRecord& record = flows[flow];
  ShapedClass& shaped = *classes[record.class_number];
  if (!make_place_in_tree(record.queue)) return drop(packet, flow, DropReason::pool_full);
  if (!fits(shaped.queue_of(record), queued_in(record.queue), packet.cost()))
    return drop(packet, flow, packet.late ? DropReason::starved : DropReason::queue_full);
  const PacketHandle stored = store(record, packet, not_lent(frames));
  if (stored == kNoPacket) return drop(packet, flow, DropReason::pool_full);
  shaped.counters.queued += packet.cost();
  enqueue_in_tree(flow, stored);
}

void ShaperState::drop(const ArrivingPacket& packet, FlowNumber flow, DropReason reason) {
  counters_at(packet.class_index).dropped_for(reason) += packet.cost();
  if (flow != kNoFlow) flows.dropped(flow) += packet.cost();
  if (drop_observer != nullptr) drop_observer->dropped(packet, reason);
}

FlowNumber ShaperState::find_or_add_flow(const ArrivingPacket& packet, Instant now) {
  const ClassNumber class_number = class_numbers[packet.class_index];
  FlowNumber flow = flows.find(packet.flow_hash, class_number, packet.key);
  if (flow != kNoFlow) return flow;
  const auto insert = [&] {
    return budget->has_flow() ? flows.insert(packet.flow_hash, class_number, packet.key) : kNoFlow;
  };
  flow = insert();
  if (flow == kNoFlow) {
    // For want of room a flow need not have been idle: it is enough that nobody gains by its going.
    expire_flows(kLooksWhenFull, now, Duration::zero());
    if (!budget->has_flow()) budget->expire_flows_of_another(*this, kLooksWhenFull, now);
    flow = insert();
    if (flow == kNoFlow) return flow;
  }
  flows[flow].generation = classes[class_number]->generation_of(packet.key);
  ++classes[class_number]->flows;
  ++schedule->flows;
  ++budget->flows;
  if (flows.is_short()) schedule->some_short = true;
  return flow;
}

void ShaperState::expire_flows(std::uint32_t looks, Instant now, Duration after) {
  if (outstanding != 0) return;  // complete_…() will look for the flows of these packets
  // No packet leaves before now - kMaxCatchUp any more, even if it was captured earlier.
  const auto forgets_nothing = [this, since = now - kMaxCatchUp](const FlowRecord& record) {
    return as_new(record, since);
  };
  flows.expire(looks, now - after, forgets_nothing, [this](const FlowRecord& record) {
    --classes[record.class_number]->flows;
    if (schedule == nullptr) return;
    --schedule->flows;
    --budget->flows;
  });
}

// A new flow would be treated no better from `since` on.
bool ShaperState::as_new(const FlowRecord& record, Instant since) const {
  const ShapedClass& shaped = *classes[record.class_number];
  return shaped.polices ? shaped.policer->as_new(record.bucket, since) : record.bucket.as_new(since);
}

// Even if nothing of what waits has been let go meanwhile.
bool ShaperState::surely_has_room(const FlowRecord& record, const ShapedClass& shaped,
                                  const Cost& cost) const {
  const QueueCapacity& capacity = shaped.queue_of(record);
  return !capacity.time && fits(capacity, waiting_in(record.queue), cost);
}

// Judged at the instant at which the packet arrived, by the schedule, once what may leave by then has been let go. So
// neither batches nor a late wake-up drop packets.
bool ShaperState::has_room(const FlowRecord& record, const ShapedClass& shaped, const ArrivingPacket& packet,
                           Instant now) const {
  return has_room(record, shaped, waiting_at(record, shaped, packet.arrival, now), packet);
}

WaitingPackets ShaperState::waiting_at(const FlowRecord& record, const ShapedClass& shaped, Instant arrival,
                                       Instant now) const {
  WaitingPackets waiting{.bucket = record.bucket, .cost = waiting_in(record.queue), .first_leaves = {}};
  if (!shaped.plans && record.generation != shaped.generation)
    waiting.bucket.change(shaped.parameters_before, shaped.parameters, arrival);
  if (const PacketHandle first = first_waiting_in(record.queue); first != kNoPacket)
    waiting.first_leaves = std::max(pool()[first].earliest, now - kMaxCatchUp);
  return waiting;
}

bool ShaperState::has_room(const FlowRecord& record, const ShapedClass& shaped, WaitingPackets waiting,
                           const ArrivingPacket& packet) const {
  const Instant departure = waiting.departure_behind(shaped.parameters_of(record), packet);
  if (departure <= packet.arrival) return true;  // it need not wait
  const QueueCapacity& capacity = shaped.queue_of(record);
  return fits(capacity, waiting.cost, packet.cost()) &&
         (!capacity.time || departure - packet.arrival <= *capacity.time);
}

// All waiting packets are committed as one: exact for one rate; with two rates at once the longer of the two waits.
Instant WaitingPackets::departure_behind(const BucketParameters& parameters, const ArrivingPacket& packet) {
  if (first_leaves) bucket.commit(parameters, cost, *first_leaves);
  return std::max(first_leaves.value_or(packet.arrival),
                  bucket.earliest(parameters, packet.cost(), packet.arrival));
}

PacketHandle ShaperState::store(const FlowRecord& record, const ArrivingPacket& packet,
                                Shaper::Frames frames) {
  const StrippedTag tag{packet.vlan_tpid, packet.vlan_tci};
  const std::uint32_t chunks = chunks_for(packet);
  PacketHandle handle = kNoPacket;
  while (handle == kNoPacket) {
    if (budget->has_chunks(chunks)) {
      switch (frames) {
        case Shaper::Frames::copied:
          handle = pool().store(packet.frame, tag, frame_prefix);
          break;
        case Shaper::Frames::lent:
          handle = pool().store_lent(packet.frame, tag, frame_prefix);
          break;
        case Shaper::Frames::first_parts:
          handle = pool().store_first_part(packet.frame, tag, frame_prefix);
          break;
      }
    }
    if (handle == kNoPacket && !shorten_longest_queue(record, chunks)) return kNoPacket;
  }
  chunks_in_use += chunks;
  budget->chunks_in_use += chunks;
  StoredPacket& stored = pool()[handle];
  stored.arrival = packet.arrival;
  stored.earliest = packet.arrival;
  stored.charged_bytes = packet.charged_bytes;
  stored.charged_packets = packet.charged_packets;
  stored.class_number = record.class_number;
  stored.cgroups = packet.cgroups;
  return handle;
}

// When the budget's memory is used up, or the host has no more, its longest queue loses its last packet: one that would
// have left last. It may be another shaper's. False: none does, because the packet that wants in is the one to go. Its own
// queue would be among the longest.
bool ShaperState::shorten_longest_queue(const FlowRecord& record, std::uint32_t chunks) {
  if (!another_pays(record, chunks)) return false;
  const BacklogNumber longest = budget->longest_queues.longest();
  schedule->shapes[backlogs()[longest].shape]->drop_last(longest);
  return true;
}

bool ShaperState::another_pays(const FlowRecord& record, std::uint32_t chunks) const {
  const LongestQueues& queues = budget->longest_queues;
  return queues.longest() != kNoBacklog && !queues.among_longest(chunks_in(record.queue) + chunks);
}

std::uint32_t ShaperState::chunks_for(const ArrivingPacket& packet) const {
  const StrippedTag tag{packet.vlan_tpid, packet.vlan_tci};
  return PacketPool::chunks_for(PacketPool::stored_bytes(packet.frame, tag, frame_prefix));
}

}  // namespace headgate
