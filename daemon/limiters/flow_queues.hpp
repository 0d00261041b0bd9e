// The queues of a scheduler's flows: chains of items in one memory, all of it taken by the constructor.
//
// A flow is a number below the number of flows. Each call takes constant time.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"

namespace headgate {

// Below 2^32 packets and bytes.
struct QueuedItem {
  std::uint64_t handle = 0;
  Instant arrival{};
  std::uint32_t packets = 0;
  std::uint32_t bytes = 0;

  Cost cost() const { return {packets, bytes}; }
};

class FlowQueues {
 public:
  FlowQueues(std::uint32_t flows, std::uint32_t items) : queues_(flows), slots_(items) {
    for (std::uint32_t slot = items; slot > 0; --slot) give_back(slot - 1);
  }

  bool full() const { return free_ == kNone; }
  std::uint32_t items() const { return items_; }  // of all flows

  bool empty(std::uint32_t flow) const { return queues_[flow].items == 0; }
  std::uint32_t items(std::uint32_t flow) const { return queues_[flow].items; }
  const Cost& cost(std::uint32_t flow) const { return queues_[flow].cost; }

  // The first; the flow is not empty.
  const QueuedItem& front(std::uint32_t flow) const {
    assert(!empty(flow));
    return slots_[queues_[flow].first].item;
  }

  // There is room.
  void push(std::uint32_t flow, const QueuedItem& item) {
    assert(!full());
    const std::uint32_t slot = free_;
    free_ = slots_[slot].next;
    slots_[slot] = {item, kNone};
    Queue& queue = queues_[flow];
    (queue.items == 0 ? queue.first : slots_[queue.last].next) = slot;
    queue.last = slot;
    queue.cost += item.cost();
    ++queue.items;
    ++items_;
  }

  // The flow is not empty.
  void pop(std::uint32_t flow) {
    Queue& queue = queues_[flow];
    const std::uint32_t slot = queue.first;
    queue.cost -= front(flow).cost();
    queue.first = slots_[slot].next;
    --queue.items;
    --items_;
    give_back(slot);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  struct Queue {
    std::uint32_t first = kNone;  // of an empty one: anything
    std::uint32_t last = kNone;
    std::uint32_t items = 0;
    Cost cost;
  };
  struct Slot {
    QueuedItem item;
    std::uint32_t next = kNone;
  };

  void give_back(std::uint32_t slot) {
    slots_[slot].next = free_;
    free_ = slot;
  }

  std::vector<Queue> queues_;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  std::uint32_t items_ = 0;
};

}  // namespace headgate
