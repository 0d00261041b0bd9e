// What is due: paid for, out of its queue, and its end.
#include <algorithm>
#include <cassert>

#include "core/schedule.hpp"
#include "core/schedule_state.hpp"
#include "core/shaper_state.hpp"

namespace headgate {

FlowBucket& ShaperState::bucket_of(FlowRecord& record, const ShapedClass& shaped, Instant now) const {
  if (record.generation != shaped.generation && !shaped.plans) {
    record.bucket.change(shaped.parameters_before, shaped.parameters, now);
    record.generation = shaped.generation;
  }
  return record.bucket;
}

// The packet's turn is next: all before it in the queue are paid for. It does not leave before them, even if the clock
// that stamped it was behind theirs.
void ShaperState::set_turn(FlowRecord& record, StoredPacket& stored) const {
  const ShapedClass& shaped = *classes[record.class_number];
  stored.earliest = bucket_of(record, shaped, stored.earliest)
                        .earliest(shaped.parameters_of(record), stored.cost(), stored.earliest);
  if (stored.previous != kNoPacket)
    stored.earliest = std::max(stored.earliest, pool()[stored.previous].earliest);
}

// The packet whose turn it is leaves at its time; or later, if that is longer ago than may be caught up.
[[gnu::always_inline]] inline void ShaperState::commit(FlowRecord& record, StoredPacket& stored,
                                                       Instant now) {
  const ShapedClass& shaped = *classes[record.class_number];
  const Duration shift = now - kMaxCatchUp - stored.earliest;
  if (shift > Duration::zero()) {
    stored.earliest += shift;
    shifts += {.times = 1, .total = shift};
  }
  bucket_of(record, shaped, stored.earliest)
      .commit(shaped.parameters_of(record), stored.cost(), stored.earliest);
}

[[gnu::always_inline]] inline void ShaperState::commit_first(Backlog& backlog, Instant now) {
  StoredPacket& stored = pool()[backlog.first_waiting];
  FlowRecord& record = flows[backlog.flow];
  commit(record, stored, now);
  backlog.subtract_waiting(stored.cost());
  backlog.first_waiting = stored.next;
  if (stored.next != kNoPacket) set_turn(record, pool()[stored.next]);
}

// Takes the first packet out, paid for or not.
[[gnu::always_inline]] inline PacketHandle ShaperState::pop(BacklogNumber number) {
  BacklogTable& table = backlogs();
  Backlog& backlog = table[number];
  const PacketHandle packet = backlog.head;
  const StoredPacket& stored = pool()[packet];
  if (backlog.first_waiting == packet) {
    backlog.subtract_waiting(stored.cost());
    backlog.first_waiting = stored.next;
  }
  backlog.head = stored.next;
  backlog.subtract(stored.cost(), PacketPool::chunks_for(stored.length));
  if (backlog.head == kNoPacket) {
    backlog.tail = kNoPacket;
    --schedule->queues;
  } else {
    StoredPacket& head = pool()[backlog.head];
    head.previous = kNoPacket;
    if (head.next != kNoPacket) pool().prefetch(head.next);
  }
  budget->longest_queues.resized(table, number);
  return packet;
}

// When it was the last packet, the backlog goes back to the table and has no head.
[[gnu::always_inline]] inline PacketHandle ShaperState::unlink_head_of(BacklogNumber number) {
  const PacketHandle packet = pop(number);
  if (backlogs()[number].head == kNoPacket) release_backlog(number);
  return packet;
}

// For classes in a tree, whose packets are paid for when they leave.
void ShaperState::pay_for_first(BacklogNumber number, Instant now) {
  commit_first(backlogs()[number], now);
}

// In a round the backlog stays when it is empty.
PacketHandle ShaperState::unlink_in_round(BacklogNumber number) {
  return pop(number);
}

// Of a queue that is empty.
void ShaperState::release_backlog(BacklogNumber number) {
  flows[backlogs()[number].flow].queue = FlowQueue();
  backlogs().release(number);
}

// Takes the first packet out of a queue, paid for or not.
PacketHandle ShaperState::unlink_head(FlowNumber flow) {
  FlowQueue& queue = flows[flow].queue;
  if (queue.is_backlog()) return unlink_head_of(queue.backlog());
  const PacketHandle packet = queue.packet();
  queue = FlowQueue();
  --schedule->queues;
  return packet;
}

std::size_t Schedule::release(Instant now, std::span<DuePacket> out) {
  ScheduleState& state = *state_;
  std::size_t count = state.release_immediate(out);
  while (count < out.size()) {
    const auto due = state.wheel.peek(now, std::min(out.size() - count, kBatch));
    if (due.empty()) break;
    if (state.flows > kFlowsInCache) state.prefetch(due);
    // The next packet of a flow may come before the other flows; but so many are due at least.
    for (std::size_t left = due.size(); left > 0 && count < out.size(); --left)
      count += state.release_first(now, out.subspan(count));
  }
  return count + state.release_from_trees(now, out.subspan(count));
}

std::size_t ScheduleState::release_first(Instant now, std::span<DuePacket> out) {
  const TimingWheel::Item first = wheel.take_first();
  ShaperState& shape = *shapes[first.shape];
  if (shape.tree && shape.classes[shape.flows[first.flow].class_number]->in_tree()) {
    shape.make_ready(first.flow);
    return 0;
  }
  if (!shape.flows[first.flow].queue.is_packet())
    return shape.release_run(first.flow, now, wheel.first_due(), out);
  shape.release_single(first.flow, now, out.front());
  return 1;
}

// A flow whose time has come, out of the wheel, and that has one packet.
[[gnu::flatten]] void ShaperState::release_single(FlowNumber flow, Instant now, DuePacket& due) {
  FlowRecord& record = flows[flow];
  const PacketHandle packet = record.queue.packet();
  commit(record, pool()[packet], now);
  record.queue = FlowQueue();
  record.last_used = now;
  --schedule->queues;
  hand_out(packet, due);
}

// One that has a backlog: its first packet, and what follows as long as that is due before `others`. Puts the flow back
// for the packet behind. Returns how many packets.
[[gnu::flatten]] std::size_t ShaperState::release_run(FlowNumber flow, Instant now, Instant others,
                                                      std::span<DuePacket> out) {
  FlowRecord& record = flows[flow];
  const BacklogNumber backlog_number = record.queue.backlog();
  Backlog& backlog = backlogs()[backlog_number];
  std::size_t count = 0;
  while (true) {
    if (backlog.head == backlog.first_waiting) commit_first(backlog, now);
    hand_out(unlink_head_of(backlog_number), out[count++]);
    if (backlog.head == kNoPacket) {
      record.last_used = now;
      return count;
    }
    const Instant due = pool()[backlog.head].earliest;
    if (due > now || due >= others || count == out.size()) {
      schedule_flow(flow, due);
      return count;
    }
  }
}

// Field by field in place: a copy of the whole would have to wait until its fields have left the store buffer.
void ShaperState::hand_out(PacketHandle packet, DuePacket& due) {
  const StoredPacket& stored = pool()[packet];
  ++outstanding;
  due.handle = packet;
  due.length = stored.length;
  due.ideal = stored.earliest;
  due.class_index = stored.class_number == kNoClass ? kUnmatched : classes[stored.class_number]->index;
  due.shape = shape_number;
}

// What the schedule has let go `by` then does not wait any more, even if release() has not been called since. A queue of
// one packet must have a place for a second (make_place()).
void ShaperState::let_go(FlowNumber flow, Instant by, Instant now) {
  const auto none_or_waits = [&](PacketHandle packet) {
    return packet == kNoPacket || std::max(pool()[packet].earliest, now - kMaxCatchUp) > by;
  };
  if (none_or_waits(first_waiting_in(flows[flow].queue))) return;
  Backlog& backlog = backlogs()[backlog_of(flow)];
  do {
    commit_first(backlog, now);
  } while (!none_or_waits(backlog.first_waiting));
}

std::size_t ScheduleState::release_immediate(std::span<DuePacket> out) {
  if (!some_immediate) return 0;
  std::size_t count = 0;
  some_immediate = false;
  for (ShaperState* shape : shapes) {
    if (shape == nullptr || shape->suspended) continue;
    count += shape->release_immediate(out.subspan(count));
    if (shape->immediate_head != kNoPacket) some_immediate = true;
  }
  return count;
}

std::size_t ShaperState::release_immediate(std::span<DuePacket> out) {
  std::size_t count = 0;
  while (count < out.size() && immediate_head != kNoPacket) {
    const PacketHandle packet = immediate_head;
    immediate_head = pool()[packet].next;
    if (immediate_head == kNoPacket) immediate_tail = kNoPacket;
    hand_out(packet, out[count++]);
  }
  return count;
}

void Schedule::complete_sent(std::span<const DuePacket> packets, Instant now) {
  while (!packets.empty()) {
    ShaperState& shape = *state_->shapes[packets.front().shape];
    packets = packets.subspan(shape.complete_sent_of_class(packets, now));
  }
}

// The first of `packets`, and those behind it as long as they are of its class: most often all. Returns how many.
std::size_t ShaperState::complete_sent_of_class(std::span<const DuePacket> packets, Instant now) {
  const ClassNumber class_number = pool()[packets.front().handle].class_number;
  ClassCounters& counters = counters_of(class_number);
  DelayHistogram::Slice* const delays =
      class_number == kNoClass ? nullptr : &classes[class_number]->delays.slice(now);
  Cost sent;
  std::uint32_t chunks = 0;
  std::size_t done = 0;
  for (; done < packets.size() && packets[done].shape == shape_number; ++done) {
    const PacketHandle packet = packets[done].handle;
    const StoredPacket& stored = pool()[packet];
    if (stored.class_number != class_number) break;
    const Cost cost = stored.cost();
    sent.packets += cost.packets;
    sent.bytes += cost.bytes;
    chunks += PacketPool::chunks_for(stored.length);
    if (stored.flow != kNoFlow && delays != nullptr) {
      flows[stored.flow].sent += cost;
      delays->record(now - stored.arrival, cost.packets);
    }
    pool().free(packet);
  }
  counters.queued -= sent;
  counters.sent += sent;
  give_back_chunks(chunks);
  outstanding -= done;
  return done;
}

void Schedule::complete_dropped(std::span<const DuePacket> packets, DropReason reason) {
  for (const DuePacket& packet : packets) state_->shapes[packet.shape]->complete_dropped(packet, reason);
}

void ShaperState::complete_dropped(const DuePacket& packet, DropReason reason) {
  const StoredPacket& stored = pool()[packet.handle];
  ClassCounters& counters = counters_of(stored.class_number);
  counters.queued -= stored.cost();
  counters.dropped_for(reason) += stored.cost();
  forget_remark(stored);
  if (stored.flow != kNoFlow) flows.dropped(stored.flow) += stored.cost();
  free_packet(packet.handle);
  --outstanding;
}

}  // namespace headgate
