// The queues of the flows of a schedule that have several packets waiting.
//
// A record exists from the second packet of a queue on until the queue is empty.
#pragma once

#include <cstdint>

#include "core/flow_queue.hpp"
#include "core/flow_table.hpp"
#include "core/memory_area.hpp"
#include "core/packet_pool.hpp"
#include "core/record_table.hpp"
#include "headgate/cost.hpp"
#include "limiters/prefetch.hpp"

namespace headgate {

// A queue is a chain of packets. From `first_waiting` on they wait for their bucket; those before it are paid for and may
// leave, they only have not been released yet. When `first_waiting` may leave is known, and not yet when those behind it
// may.
struct alignas(64) Backlog {
  FlowNumber flow = kNoFlow;
  PacketHandle head = kNoPacket;
  PacketHandle tail = kNoPacket;
  PacketHandle first_waiting = kNoPacket;
  std::uint64_t queued_bytes = 0;   // cost of the whole chain
  std::uint64_t waiting_bytes = 0;  // and of what is in it from first_waiting on
  std::uint32_t queued_packets = 0;
  std::uint32_t waiting_packets = 0;
  std::uint32_t chunks = 0;
  std::uint32_t shape = 0;  // whose flow it is, by its number in the schedule

  Cost queued() const { return {queued_packets, queued_bytes}; }
  Cost waiting() const { return {waiting_packets, waiting_bytes}; }
  bool single() const { return head == tail; }

  void add(const Cost& cost, std::uint32_t more_chunks) {
    queued_packets += static_cast<std::uint32_t>(cost.packets);
    queued_bytes += cost.bytes;
    waiting_packets += static_cast<std::uint32_t>(cost.packets);
    waiting_bytes += cost.bytes;
    chunks += more_chunks;
  }
  void subtract(const Cost& cost, std::uint32_t fewer_chunks) {
    queued_packets -= static_cast<std::uint32_t>(cost.packets);
    queued_bytes -= cost.bytes;
    chunks -= fewer_chunks;
  }
  void subtract_waiting(const Cost& cost) {
    waiting_packets -= static_cast<std::uint32_t>(cost.packets);
    waiting_bytes -= cost.bytes;
  }

 private:
  friend class LongestQueues;
  std::uint32_t list_ = 0;  // 0: in none
  BacklogNumber list_next_ = kNoBacklog;
  BacklogNumber list_previous_ = kNoBacklog;
};
static_assert(sizeof(Backlog) == 64);

class BacklogTable {
 public:
  BacklogTable(std::uint32_t capacity, MemorySource& memory) : backlogs_(capacity, memory) {}

  // acquire() will succeed. False: there is no memory for one more.
  bool make_ready() { return backlogs_.make_ready(1); }
  void grow_ahead() { backlogs_.grow_ahead(); }
  // acquire() gives numbers below this, as long as one is ready.
  std::uint32_t numbers() const { return backlogs_.ready_end(); }

  // One must be ready.
  BacklogNumber acquire(FlowNumber flow, std::uint32_t shape = 0) {
    const BacklogNumber backlog = backlogs_.take();
    backlogs_[backlog] = Backlog{};
    backlogs_[backlog].flow = flow;
    backlogs_[backlog].shape = shape;
    return backlog;
  }
  // The queue must be empty, and in no list.
  void release(BacklogNumber backlog) { backlogs_.give_back(backlog); }

  Backlog& operator[](BacklogNumber backlog) { return backlogs_[backlog]; }
  const Backlog& operator[](BacklogNumber backlog) const { return backlogs_[backlog]; }

  void prefetch(BacklogNumber backlog) const { prefetch_line(&backlogs_[backlog]); }
  // The memory that the next `count` acquire() will take.
  void prefetch_free(std::uint32_t count) const {
    for (std::uint32_t i = 0; i < count && i < backlogs_.ready(); ++i) prefetch(backlogs_.next(i));
  }

 private:
  RecordTable<Backlog> backlogs_;
};

}  // namespace headgate
