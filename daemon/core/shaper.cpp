#include "core/shaper.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/shaper_state.hpp"

namespace headgate {
namespace {

// How fast the expiry hand moves: records looked at for each packet, at least one a batch, and in search of a
// record for a new flow when there is none.
constexpr std::uint32_t kPacketsPerLook = 4;
constexpr std::uint32_t kLooksWhenFull = 32;

bool fits(const QueueCapacity& capacity, const Count& waiting, const Count& packet) {
  return (!capacity.packets || waiting.packets + packet.packets <= *capacity.packets) &&
         (!capacity.bytes || waiting.bytes + packet.bytes <= capacity.bytes->bytes);
}

Count charge_of(const ArrivingPacket& packet) {
  return {packet.charged_packets, packet.charged_bytes};
}

}  // namespace

Shaper::State::State(const ShaperLimits& limits, std::vector<ClassConfig> configs)
    : idle(limits.idle),
      frame_prefix(limits.frame_prefix),
      pool(limits.memory, limits.table_memory),
      flows(limits.max_flows, limits.table_memory),
      backlogs(std::min(pool.chunks(), flows.capacity()), limits.table_memory),
      wheel(std::min(pool.chunks(), flows.capacity()), limits.table_memory) {
  for (ClassConfig& config : configs) {
    const auto index = static_cast<ClassIndex>(classes.size());
    classes.push_back(std::make_unique<ShapedClass>(std::move(config)));
    classes.back()->index = index;
    slots.push_back(index);
  }
}

Shaper::Shaper(const ShaperLimits& limits, std::vector<ClassConfig> classes, Instant now)
    : state_(std::make_unique<State>(limits, std::move(classes))) {
  state_->wheel.start_at(now);
}

Shaper::~Shaper() = default;

void Shaper::admit(std::span<const ArrivingPacket> packets, Instant now) {
  State& state = *state_;
  if (packets.empty()) return;
  state.expire_flows(1 + static_cast<std::uint32_t>(packets.size()) / kPacketsPerLook, now);
  if (state.wheel.empty()) state.wheel.start_at(std::min(packets.front().arrival, now));
  if (state.flows.size() > State::kFlowsInCache)
    for (const ArrivingPacket& packet : packets) state.flows.prefetch_slot(packet.flow_hash);
  while (!packets.empty()) {
    const bool in_cache = state.flows.size() <= State::kFlowsInCache;
    const auto batch =
        packets.first(std::min(packets.size(), in_cache ? State::kBatch : State::kFetchedAtOnce));
    state.admit_batch(batch, now);
    packets = packets.subspan(batch.size());
  }
}

void Shaper::admit_lent(std::span<const ArrivingPacket> packets, Instant now) {
  state_->lending = true;
  admit(packets, now);
  state_->lending = false;
}

bool Shaper::lends() const {
  return state_->pool.lends();
}

void Shaper::keep_lent() {
  state_->pool.keep_lent();
}

// What each packet will touch hangs on what the one before it in the chain says: index, record, queue, last packet. So
// all packets go one step of the chain together, and their cache misses overlap.
void Shaper::State::admit_batch(std::span<const ArrivingPacket> batch, Instant now) {
  const bool in_cache = flows.size() <= kFlowsInCache;
  if (!in_cache) pool.prefetch_free(static_cast<std::uint32_t>(batch.size()));
  std::array<FlowNumber, kBatch> likely;
  for (std::size_t i = 0; i < batch.size(); ++i) likely[i] = flows.likely(batch[i].flow_hash);
  if (!in_cache) prefetch_queues(std::span(likely).first(batch.size()));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ArrivingPacket& packet = batch[i];
    const bool sure = likely[i] != kNoFlow && flows.holds(likely[i], slots[packet.class_index], packet.key);
    admit(packet, sure ? likely[i] : find_or_add_flow(packet, now), now);
  }
}

void Shaper::State::prefetch_queues(std::span<const FlowNumber> batch) const {
  std::uint32_t seconds = 0;  // packets that will need a new backlog
  for (const FlowNumber flow : batch) {
    if (flow == kNoFlow) continue;
    const FlowQueue queue = flows[flow].queue;
    seconds += queue.is_packet() ? 1 : 0;
    prefetch(queue);
  }
  backlogs.prefetch_free(seconds);
  for (const FlowNumber flow : batch) {
    if (flow == kNoFlow || !flows[flow].queue.is_backlog()) continue;
    pool.prefetch(backlogs[flows[flow].queue.backlog()].tail);
  }
}

void Shaper::State::prefetch(std::span<const TimingWheel::Item> batch) const {
  for (const auto& [due, flow] : batch) flows.prefetch(flow);
  for (const auto& [due, flow] : batch) prefetch(flows[flow].queue);
  for (const auto& [due, flow] : batch) {
    const FlowQueue queue = flows[flow].queue;
    if (queue.is_backlog()) pool.prefetch(backlogs[queue.backlog()].head);
  }
  for (const auto& [due, flow] : batch) {
    const FlowQueue queue = flows[flow].queue;
    if (!queue.is_backlog()) continue;
    const PacketHandle next = pool[backlogs[queue.backlog()].head].next;
    if (next != kNoPacket) pool.prefetch(next);
  }
}

void Shaper::State::prefetch(const FlowQueue& queue) const {
  if (queue.is_packet()) {
    pool.prefetch(queue.packet());
  } else if (queue.is_backlog()) {
    backlogs.prefetch(queue.backlog());
  }
}

void Shaper::State::admit(const ArrivingPacket& packet, FlowNumber flow, Instant now) {
  assert(packet.class_index < slots.size() && !class_at(packet.class_index).config.bypass);
  ShapedClass& shaped = class_at(packet.class_index);
  const Count charge = charge_of(packet);
  shaped.counters.received += charge;
  if (flow == kNoFlow) return drop(packet, flow, DropReason::flow_table_full);
  FlowRecord& record = flows[flow];
  record.last_used = now;
  if (!has_room(flow, shaped, packet, now)) return drop(packet, flow, DropReason::queue_full);
  const PacketHandle stored = store(record, packet);
  if (stored == kNoPacket) return drop(packet, flow, DropReason::pool_full);
  shaped.counters.queued += charge;
  enqueue(flow, stored);
}

void Shaper::State::drop(const ArrivingPacket& packet, FlowNumber flow, DropReason reason) {
  counters_at(packet.class_index).dropped_for(reason) += charge_of(packet);
  if (flow != kNoFlow) flows.dropped(flow) += charge_of(packet);
  if (drop_observer != nullptr) drop_observer->dropped(packet, reason);
}

void Shaper::State::expire_flows(std::uint32_t looks, Instant now) {
  if (outstanding != 0) return;  // complete() will look for the flows of these packets
  // No packet leaves before now - kMaxCatchUp any more, even if it was captured earlier.
  flows.expire(looks, now - idle, now - kMaxCatchUp,
               [this](const FlowRecord& record) { --classes[record.class_slot]->flows; });
}

FlowNumber Shaper::State::find_or_add_flow(const ArrivingPacket& packet, Instant now) {
  const ClassSlot slot = slots[packet.class_index];
  FlowNumber flow = flows.find(packet.flow_hash, slot, packet.key);
  if (flow != kNoFlow) return flow;
  if (flows.full()) expire_flows(kLooksWhenFull, now);
  flow = flows.insert(packet.flow_hash, slot, packet.key);
  if (flow == kNoFlow) return flow;
  flows[flow].generation = classes[slot]->generation;
  ++classes[slot]->flows;
  return flow;
}

// Judged at the instant at which the packet arrived, by the schedule: packets whose bucket has let them go by
// then do not wait any more, even if release() has not been called since. So neither batches nor a late
// wake-up drop packets.
bool Shaper::State::has_room(FlowNumber flow, const ShapedClass& shaped, const ArrivingPacket& packet,
                             Instant now) {
  FlowRecord& record = flows[flow];
  const QueueCapacity& capacity = shaped.config.queue;
  const Count charge = charge_of(packet);
  if (!capacity.time && fits(capacity, waiting_in(record.queue), charge)) return true;

  Backlog* backlog = record.queue.empty() ? nullptr : &backlogs[backlog_of(flow)];
  const Instant earliest = now - kMaxCatchUp;
  LeakyBucket after = bucket_of(record, shaped);
  Instant departure = packet.arrival;
  if (backlog) {
    while (backlog->first_waiting != kNoPacket &&
           std::max(pool[backlog->first_waiting].departure, earliest) <= packet.arrival) {
      charge_first(*backlog, now);
    }
    after = record.bucket;
    if (backlog->first_waiting != kNoPacket) {
      departure = std::max(pool[backlog->first_waiting].departure, earliest);
      after.charge(shaped.parameters, departure, backlog->waiting());
    }
  }
  // All waiting packets charged as one: exact for one rate; with two rates at once the longer of the two
  // waits.
  departure = std::max(departure, after.departure(shaped.parameters, packet.arrival, charge));
  if (departure <= packet.arrival) return true;  // it need not wait
  return fits(capacity, backlog ? backlog->waiting() : Count{}, charge) &&
         (!capacity.time || departure - packet.arrival <= *capacity.time);
}

// When memory is short, the longest queue loses packets from its end: those that would have left last. The
// packet that wants in is the one to go when its own queue is among the longest.
PacketHandle Shaper::State::store(const FlowRecord& record, const ArrivingPacket& packet) {
  const std::uint32_t needed = PacketPool::chunks_for(frame_prefix + packet.frame.size() +
                                                      (packet.vlan_tpid != 0 ? PacketPool::kTagBytes : 0));
  while (pool.free_chunks() < needed) {
    const std::uint32_t own = chunks_in(record.queue);
    const BacklogNumber longest = backlogs.longest();
    if (longest == kNoBacklog || backlogs.among_longest(own + needed)) return kNoPacket;
    drop_last(longest);
  }
  const StrippedTag tag{packet.vlan_tpid, packet.vlan_tci};
  const PacketHandle handle = lending ? pool.store_lent(packet.frame, tag, frame_prefix)
                                      : pool.store(packet.frame, tag, frame_prefix);
  StoredPacket& stored = pool[handle];
  stored.arrival = packet.arrival;
  stored.departure = packet.arrival;
  stored.charged_bytes = packet.charged_bytes;
  stored.charged_packets = packet.charged_packets;
  stored.class_slot = record.class_slot;
  return handle;
}

void Shaper::State::drop_last(BacklogNumber number) {
  Backlog& backlog = backlogs[number];
  const PacketHandle packet = backlog.tail;
  const StoredPacket& stored = pool[packet];
  const Count charge = stored.charge();
  assert(!backlog.single());
  if (backlog.first_waiting != kNoPacket) backlog.subtract_waiting(charge);
  if (backlog.first_waiting == packet) backlog.first_waiting = kNoPacket;
  backlog.tail = stored.previous;
  pool[backlog.tail].next = kNoPacket;
  backlog.subtract(charge, PacketPool::chunks_for(stored.length));
  backlogs.resized(number);
  flows.dropped(backlog.flow) += charge;
  ClassCounters& counters = counters_of(stored.class_slot);
  counters.queued -= charge;
  counters.dropped_for(DropReason::pool_full) += charge;
  show_drop(packet, classes[stored.class_slot]->index, DropReason::pool_full);
  pool.free(packet);
}

void Shaper::State::show_drop(PacketHandle packet, ClassIndex class_index, DropReason reason) const {
  if (drop_observer == nullptr) return;
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  const std::size_t count = pool.parts(packet, parts);
  parts[0] = parts[0].subspan(frame_prefix);
  drop_observer->dropped(class_index, std::span(parts).first(count), reason);
}

void Shaper::State::enqueue(FlowNumber flow, PacketHandle packet) {
  FlowRecord& record = flows[flow];
  StoredPacket& stored = pool[packet];
  stored.flow = flow;
  if (record.queue.empty()) {
    set_departure(record, stored);
    record.queue = FlowQueue::of_packet(packet);
    wheel.insert(flow, stored.departure);
    return;
  }
  const BacklogNumber number = backlog_of(flow);
  Backlog& backlog = backlogs[number];
  stored.previous = backlog.tail;
  pool[backlog.tail].next = packet;
  backlog.tail = packet;
  if (backlog.first_waiting == kNoPacket) {
    set_departure(record, stored);
    backlog.first_waiting = packet;
  }
  backlog.add(stored.charge(), PacketPool::chunks_for(stored.length));
  backlogs.resized(number);
}

// The backlog of a queue that is not empty. One packet alone gets one here.
BacklogNumber Shaper::State::backlog_of(FlowNumber flow) {
  FlowQueue& queue = flows[flow].queue;
  if (queue.is_packet()) {
    const StoredPacket& stored = pool[queue.packet()];
    const BacklogNumber number = backlogs.acquire(flow);
    Backlog& backlog = backlogs[number];
    backlog.head = backlog.tail = backlog.first_waiting = queue.packet();
    backlog.add(stored.charge(), PacketPool::chunks_for(stored.length));
    queue = FlowQueue::of_backlog(number);
  }
  return queue.backlog();
}

Count Shaper::State::waiting_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return pool[queue.packet()].charge();
  return queue.empty() ? Count{} : backlogs[queue.backlog()].waiting();
}

Count Shaper::State::queued_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return pool[queue.packet()].charge();
  return queue.empty() ? Count{} : backlogs[queue.backlog()].queued();
}

std::uint32_t Shaper::State::chunks_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return PacketPool::chunks_for(pool[queue.packet()].length);
  return queue.empty() ? 0 : backlogs[queue.backlog()].chunks;
}

LeakyBucket& Shaper::State::bucket_of(FlowRecord& record, const ShapedClass& shaped) {
  if (record.generation != shaped.generation) {
    record.bucket.change(shaped.parameters);
    record.generation = shaped.generation;
  }
  return record.bucket;
}

// When the bucket lets the packet go, given that all before it in the queue are charged. Not before them,
// even if the clock that stamped it was behind theirs.
void Shaper::State::set_departure(FlowRecord& record, StoredPacket& stored) {
  const ShapedClass& shaped = *classes[record.class_slot];
  stored.departure =
      bucket_of(record, shaped).departure(shaped.parameters, stored.departure, stored.charge());
  if (stored.previous != kNoPacket)
    stored.departure = std::max(stored.departure, pool[stored.previous].departure);
}

// The packet whose turn it is may leave: at its due time, or if that is longer ago than may be caught up, later.
void Shaper::State::charge(FlowRecord& record, StoredPacket& stored, Instant now) {
  const ShapedClass& shaped = *classes[record.class_slot];
  stored.departure = std::max(stored.departure, now - kMaxCatchUp);
  bucket_of(record, shaped).charge(shaped.parameters, stored.departure, stored.charge());
}

void Shaper::State::charge_first(Backlog& backlog, Instant now) {
  StoredPacket& stored = pool[backlog.first_waiting];
  FlowRecord& record = flows[backlog.flow];
  charge(record, stored, now);
  backlog.subtract_waiting(stored.charge());
  backlog.first_waiting = stored.next;
  if (stored.next != kNoPacket) set_departure(record, pool[stored.next]);
}

std::size_t Shaper::release(Instant now, std::span<DuePacket> out) {
  State& state = *state_;
  std::size_t count = state.release_immediate(out);
  while (count < out.size()) {
    const std::size_t wanted = std::min(out.size() - count, state.popped.size());
    const auto batch =
        std::span(state.popped).first(state.wheel.pop(now, std::span(state.popped).first(wanted)));
    if (batch.empty()) break;
    if (state.flows.size() > State::kFlowsInCache) state.prefetch(batch);
    std::size_t done = 0;
    Instant in_wheel = state.wheel.first_due();
    while (done < batch.size() && count < out.size()) {
      // The next packet of a flow of this batch may come before the others of the batch.
      const bool other = in_wheel < batch[done].due;
      const FlowNumber flow = other ? state.wheel.pop(now)->entry : batch[done++].entry;
      if (other) in_wheel = state.wheel.first_due();
      if (state.flows[flow].queue.is_packet()) {
        state.release_single(flow, now, out[count++]);
        continue;
      }
      const Instant others = done < batch.size() ? std::min(batch[done].due, in_wheel) : in_wheel;
      count += state.release_run(flow, now, others, out.subspan(count));
      in_wheel = state.wheel.first_due();
    }
    for (; done < batch.size(); ++done) state.wheel.insert(batch[done].entry, batch[done].due);
  }
  return count;
}

// A flow whose time has come, out of the wheel, and that has one packet.
void Shaper::State::release_single(FlowNumber flow, Instant now, DuePacket& due) {
  FlowRecord& record = flows[flow];
  const PacketHandle packet = record.queue.packet();
  charge(record, pool[packet], now);
  record.queue = FlowQueue();
  record.last_used = now;
  hand_out(packet, due);
}

// One that has a backlog: its first packet, and what follows as long as that is due before `others`. Puts the flow back
// for the packet behind. Returns how many packets.
std::size_t Shaper::State::release_run(FlowNumber flow, Instant now, Instant others,
                                       std::span<DuePacket> out) {
  FlowRecord& record = flows[flow];
  const BacklogNumber number = record.queue.backlog();
  const Backlog& backlog = backlogs[number];
  std::size_t count = 0;
  while (true) {
    if (backlog.head == backlog.first_waiting) charge_first(backlogs[number], now);
    hand_out(unlink_head_of(number), out[count++]);
    if (backlog.head == kNoPacket) {
      record.last_used = now;
      return count;
    }
    const Instant due = pool[backlog.head].departure;
    if (due > now || due >= others || count == out.size()) {
      wheel.insert(flow, due);
      return count;
    }
  }
}

std::size_t Shaper::release_all(std::span<DuePacket> out) {
  State& state = *state_;
  std::size_t count = state.release_immediate(out);
  while (count < out.size()) {
    const auto item = state.wheel.pop(Instant::max());
    if (!item) break;
    state.hand_out(state.unlink_head(item->entry), out[count++]);
    if (!state.flows[item->entry].queue.empty()) state.wheel.insert(item->entry, item->due);
  }
  return count;
}

// Takes the first packet out of a queue, charged or not.
PacketHandle Shaper::State::unlink_head(FlowNumber flow) {
  FlowQueue& queue = flows[flow].queue;
  if (queue.is_backlog()) return unlink_head_of(queue.backlog());
  const PacketHandle packet = queue.packet();
  queue = FlowQueue();
  return packet;
}

// When it was the last packet, the backlog goes back to the table and has no head.
PacketHandle Shaper::State::unlink_head_of(BacklogNumber number) {
  Backlog& backlog = backlogs[number];
  const PacketHandle packet = backlog.head;
  const StoredPacket& stored = pool[packet];
  if (backlog.first_waiting == packet) {
    backlog.subtract_waiting(stored.charge());
    backlog.first_waiting = stored.next;
  }
  backlog.head = stored.next;
  backlog.subtract(stored.charge(), PacketPool::chunks_for(stored.length));
  if (backlog.head == kNoPacket) backlog.tail = kNoPacket;
  backlogs.resized(number);
  if (backlog.head == kNoPacket) {
    flows[backlog.flow].queue = FlowQueue();
    backlogs.release(number);
  } else {
    pool[backlog.head].previous = kNoPacket;
  }
  return packet;
}

// Field by field in place: a copy of the whole would have to wait until its fields have left the store buffer.
void Shaper::State::hand_out(PacketHandle packet, DuePacket& due) {
  const StoredPacket& stored = pool[packet];
  ++outstanding;
  due.handle = packet;
  due.length = stored.length;
  due.ideal = stored.departure;
  due.class_index = stored.class_slot == kNoClass ? kUnmatched : classes[stored.class_slot]->index;
}

std::size_t Shaper::State::release_immediate(std::span<DuePacket> out) {
  std::size_t count = 0;
  while (count < out.size() && immediate_head != kNoPacket) {
    const PacketHandle packet = immediate_head;
    immediate_head = pool[packet].next;
    if (immediate_head == kNoPacket) immediate_tail = kNoPacket;
    hand_out(packet, out[count++]);
  }
  return count;
}

std::size_t Shaper::frame_parts(const DuePacket& packet, std::span<std::span<const std::byte>> parts) const {
  return state_->pool.parts(packet.handle, parts);
}

void Shaper::complete_sent(std::span<const DuePacket> packets, Instant now) {
  State& state = *state_;
  while (!packets.empty()) {
    // Most often all of them: the packets of one class.
    const State::ClassSlot slot = state.pool[packets.front().handle].class_slot;
    ClassCounters& counters = state.counters_of(slot);
    DelayHistogram::Slice* const delays =
        slot == State::kNoClass ? nullptr : &state.classes[slot]->delays.slice(now);
    Count sent;
    std::size_t done = 0;
    for (; done < packets.size(); ++done) {
      const PacketHandle packet = packets[done].handle;
      const StoredPacket& stored = state.pool[packet];
      if (stored.class_slot != slot) break;
      const Count charge = stored.charge();
      sent += charge;
      if (stored.flow != kNoFlow && delays != nullptr) {
        state.flows[stored.flow].sent += charge;
        delays->record(now - stored.arrival, charge.packets);
      }
      state.pool.free(packet);
    }
    counters.queued -= sent;
    counters.sent += sent;
    packets = packets.subspan(done);
    state.outstanding -= done;
  }
}

void Shaper::complete_dropped(std::span<const DuePacket> packets, DropReason reason) {
  State& state = *state_;
  for (const DuePacket& packet : packets) {
    const StoredPacket& stored = state.pool[packet.handle];
    const Count charge = stored.charge();
    ClassCounters& counters = state.counters_of(stored.class_slot);
    counters.queued -= charge;
    counters.dropped_for(reason) += charge;
    if (stored.flow != kNoFlow) state.flows.dropped(stored.flow) += charge;
    state.pool.free(packet.handle);
  }
  state.outstanding -= packets.size();
}

std::optional<Instant> Shaper::next_release() const {
  if (state_->immediate_head != kNoPacket) return state_->immediate_since;
  return state_->wheel.next_due();
}

std::size_t Shaper::frame_prefix() const {
  return state_->frame_prefix;
}

void Shaper::observe_drops(DropObserver* observer) {
  state_->drop_observer = observer;
}

void Shaper::count_unshaped(ClassIndex class_index, Count received, Count sent, Count send_failed) {
  ClassCounters& counters = state_->counters_at(class_index);
  counters.received += received;
  counters.sent += sent;
  counters.dropped_for(DropReason::send_failed) += send_failed;
}

void Shaper::count_dropped(ClassIndex class_index, Count dropped, DropReason reason) {
  ClassCounters& counters = state_->counters_at(class_index);
  counters.received += dropped;
  counters.dropped_for(reason) += dropped;
}

}  // namespace headgate
