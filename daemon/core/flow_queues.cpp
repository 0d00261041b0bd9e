// The queues of a shape's flows: what is put in, what is taken out, and what is in them.
#include <algorithm>
#include <array>
#include <cassert>

#include "core/shaper_state.hpp"

namespace headgate {

// Memory for one more packet's turn: a place in the wheel for the first of a queue, a backlog for the second. False: the
// host has no more.
bool ShaperState::make_place(const FlowQueue& queue) {
  if (queue.is_packet()) return backlogs().make_ready();
  return !queue.empty() || schedule->wheel.reserve(schedule->queues + 1);
}

// There must be a place for it.
void ShaperState::enqueue(FlowNumber flow, PacketHandle packet) {
  FlowRecord& record = flows[flow];
  StoredPacket& stored = pool()[packet];
  stored.flow = flow;
  if (record.queue.empty()) {
    set_turn(record, stored);
    record.queue = FlowQueue::of_packet(packet);
    ++schedule->queues;
    schedule_flow(flow, stored.earliest);
    return;
  }
  append(record, backlog_of(flow), packet);
}

void ShaperState::append(FlowRecord& record, BacklogNumber number, PacketHandle packet) {
  Backlog& backlog = backlogs()[number];
  StoredPacket& stored = pool()[packet];
  stored.previous = backlog.tail;
  (backlog.tail == kNoPacket ? backlog.head : pool()[backlog.tail].next) = packet;
  backlog.tail = packet;
  if (backlog.first_waiting == kNoPacket) {
    set_turn(record, stored);
    backlog.first_waiting = packet;
  }
  backlog.add(stored.cost(), PacketPool::chunks_for(stored.length));
  budget->longest_queues.resized(backlogs(), number);
}

void ShaperState::schedule_flow(FlowNumber flow, Instant due) {
  if (suspended) {
    next_to_release = std::min(next_to_release, flow);
  } else {
    schedule->wheel.insert({.due = due, .flow = flow, .shape = shape_number});
  }
}

// The backlog of a queue that is not empty. One packet alone gets one here.
BacklogNumber ShaperState::backlog_of(FlowNumber flow) {
  FlowQueue& queue = flows[flow].queue;
  if (queue.is_packet()) {
    const StoredPacket& stored = pool()[queue.packet()];
    const BacklogNumber backlog_number = backlogs().acquire(flow, shape_number);
    Backlog& backlog = backlogs()[backlog_number];
    backlog.head = backlog.tail = backlog.first_waiting = queue.packet();
    backlog.add(stored.cost(), PacketPool::chunks_for(stored.length));
    queue = FlowQueue::of_backlog(backlog_number);
  }
  return queue.backlog();
}

PacketHandle ShaperState::first_of(const FlowQueue& queue) const {
  if (queue.is_packet()) return queue.packet();
  return queue.empty() ? kNoPacket : backlogs()[queue.backlog()].head;
}

PacketHandle ShaperState::first_waiting_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return queue.packet();
  return queue.empty() ? kNoPacket : backlogs()[queue.backlog()].first_waiting;
}

Cost ShaperState::waiting_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return pool()[queue.packet()].cost();
  return queue.empty() ? Cost{} : backlogs()[queue.backlog()].waiting();
}

Cost ShaperState::queued_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return pool()[queue.packet()].cost();
  return queue.empty() ? Cost{} : backlogs()[queue.backlog()].queued();
}

std::uint32_t ShaperState::chunks_in(const FlowQueue& queue) const {
  if (queue.is_packet()) return PacketPool::chunks_for(pool()[queue.packet()].length);
  return queue.empty() ? 0 : backlogs()[queue.backlog()].chunks;
}

void ShaperState::drop_last(BacklogNumber number) {
  Backlog& backlog = backlogs()[number];
  const PacketHandle packet = backlog.tail;
  const StoredPacket& stored = pool()[packet];
  assert(!backlog.single());
  if (backlog.first_waiting != kNoPacket) backlog.subtract_waiting(stored.cost());
  if (backlog.first_waiting == packet) backlog.first_waiting = kNoPacket;
  backlog.tail = stored.previous;
  pool()[backlog.tail].next = kNoPacket;
  backlog.subtract(stored.cost(), PacketPool::chunks_for(stored.length));
  budget->longest_queues.resized(backlogs(), number);
  drop_queued(packet, DropReason::pool_full);
}

// A packet that is in no queue any more, but still counted as queued.
void ShaperState::drop_queued(PacketHandle packet, DropReason reason) {
  const StoredPacket& stored = pool()[packet];
  ClassCounters& counters = counters_of(stored.class_number);
  counters.queued -= stored.cost();
  counters.dropped_for(reason) += stored.cost();
  forget_remark(stored);
  if (stored.flow != kNoFlow) flows.dropped(stored.flow) += stored.cost();
  show_drop(packet, reason);
  free_packet(packet);
}

void ShaperState::show_drop(PacketHandle packet, DropReason reason) const {
  if (drop_observer == nullptr) return;
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  const std::size_t count = pool().parts(packet, parts);
  parts[0] = parts[0].subspan(frame_prefix);
  const ClassNumber class_number = pool()[packet].class_number;
  const ClassIndex index = class_number == kNoClass ? kUnmatched : classes[class_number]->index;
  drop_observer->dropped(index, std::span(parts).first(count), reason);
}

void ShaperState::free_packet(PacketHandle packet) {
  give_back_chunks(PacketPool::chunks_for(pool()[packet].length));
  pool().free(packet);
}

void ShaperState::leave_schedule() {
  schedule->wheel.remove_if([this](const TimingWheel::Item& item) { return item.shape == shape_number; });
  leave_rounds();
}

}  // namespace headgate
