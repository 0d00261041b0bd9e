// Fetching ahead what the packets of a batch will touch, step by step of the chain from flow to packet: what one step
// names is fetched for all packets before the next step looks at it.
#include "core/schedule_state.hpp"
#include "core/shaper_state.hpp"

namespace headgate {

// For packets that arrive, where there are many classes.
void ShaperState::prefetch_classes(std::span<const ArrivingPacket> packets) const {
  for (const ArrivingPacket& packet : packets) {
    const ShapedClass& shaped = class_at(packet.class_index);
    shaped.prefetch();
    if (tree) tree->prefetch(packet.class_index);
  }
}

// For packets that arrive: the end of their queue.
void ShaperState::prefetch_queues(std::span<const FlowNumber> batch) const {
  std::uint32_t second_packets = 0;  // which will need a new backlog
  for (const FlowNumber flow : batch) {
    if (flow == kNoFlow) continue;
    const FlowQueue queue = flows[flow].queue;
    second_packets += queue.is_packet() ? 1 : 0;
    prefetch(queue);
  }
  backlogs().prefetch_free(second_packets);
  for (const FlowNumber flow : batch) {
    if (flow == kNoFlow || !flows[flow].queue.is_backlog()) continue;
    const PacketHandle tail = backlogs()[flows[flow].queue.backlog()].tail;
    if (tail != kNoPacket) pool().prefetch(tail);
  }
}

void ShaperState::prefetch(const FlowQueue& queue) const {
  if (queue.is_packet()) {
    pool().prefetch(queue.packet());
  } else if (queue.is_backlog()) {
    backlogs().prefetch(queue.backlog());
  }
}

// For flows that are due: their first packet and the one behind it.
void ScheduleState::prefetch(std::span<const TimingWheel::Item> due) const {
  for (const auto& item : due) shapes[item.shape]->flows.prefetch(item.flow);
  for (const auto& item : due) shapes[item.shape]->prefetch(shapes[item.shape]->flows[item.flow].queue);
  for (const auto& item : due) {
    const FlowQueue queue = shapes[item.shape]->flows[item.flow].queue;
    if (queue.is_backlog()) pool.prefetch(backlogs[queue.backlog()].head);
  }
  for (const auto& item : due) {
    const FlowQueue queue = shapes[item.shape]->flows[item.flow].queue;
    if (!queue.is_backlog()) continue;
    const PacketHandle next = pool[backlogs[queue.backlog()].head].next;
    if (next != kNoPacket) pool.prefetch(next);
  }
}

}  // namespace headgate
