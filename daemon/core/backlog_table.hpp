// The queues of the flows that have several packets waiting, and which of them are the longest.
//
// A record exists from the second packet of a queue on until it is empty; there are as many as packets or flows can be
// at most, all allocated by the constructor. Queues of two or more packets stand in lists by the power of two of their
// memory, so that one of the longest is found at once: the first of the highest list is more than half as
// long as any. A queue of a single packet is in no list: it never pays for another flow.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "core/flow_queue.hpp"
#include "core/flow_table.hpp"
#include "core/leaky_bucket.hpp"
#include "core/number_stack.hpp"
#include "core/packet_pool.hpp"
#include "core/prefetch.hpp"
#include "headgate/clock.hpp"

namespace headgate {

// A queue is a chain of packets. From `first_waiting` on they wait for their bucket; those before it have
// been charged and may leave, they only have not been released yet. The departure of `first_waiting` is known, of those
// behind it not yet.
struct alignas(64) Backlog {
  FlowNumber flow = kNoFlow;
  PacketHandle head = kNoPacket;
  PacketHandle tail = kNoPacket;
  PacketHandle first_waiting = kNoPacket;
  std::uint64_t queued_bytes = 0;   // charged bytes and packets of the whole chain
  std::uint64_t waiting_bytes = 0;  // and of what is in it from first_waiting on
  std::uint32_t queued_packets = 0;
  std::uint32_t waiting_packets = 0;
  std::uint32_t chunks = 0;

  Count queued() const { return {queued_packets, queued_bytes}; }
  Count waiting() const { return {waiting_packets, waiting_bytes}; }
  bool single() const { return head == tail; }

  void add(const Count& charge, std::uint32_t more_chunks) {
    queued_packets += static_cast<std::uint32_t>(charge.packets);
    queued_bytes += charge.bytes;
    waiting_packets += static_cast<std::uint32_t>(charge.packets);
    waiting_bytes += charge.bytes;
    chunks += more_chunks;
  }
  void subtract(const Count& charge, std::uint32_t fewer_chunks) {
    queued_packets -= static_cast<std::uint32_t>(charge.packets);
    queued_bytes -= charge.bytes;
    chunks -= fewer_chunks;
  }
  void subtract_waiting(const Count& charge) {
    waiting_packets -= static_cast<std::uint32_t>(charge.packets);
    waiting_bytes -= charge.bytes;
  }

 private:
  friend class BacklogTable;
  std::uint32_t list_ = 0;  // 0: in none
  BacklogNumber list_next_ = kNoBacklog;
  BacklogNumber list_previous_ = kNoBacklog;
};
static_assert(sizeof(Backlog) == 64);

class BacklogTable {
 public:
  explicit BacklogTable(std::uint32_t capacity,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  // There must be a free one.
  BacklogNumber acquire(FlowNumber flow);
  // The queue must be empty.
  void release(BacklogNumber backlog);

  Backlog& operator[](BacklogNumber backlog) { return backlogs_[backlog]; }
  const Backlog& operator[](BacklogNumber backlog) const { return backlogs_[backlog]; }

  // To be called when a queue has become longer or shorter.
  void resized(BacklogNumber backlog) {
    if (list_for(backlogs_[backlog]) != backlogs_[backlog].list_) move_to_list(backlog);
  }

  // One of the longest queues; kNoBacklog when none has two packets.
  BacklogNumber longest() const;
  // Whether a queue that grew to `chunks` would be in the highest list.
  bool among_longest(std::uint32_t chunks) const;

  void prefetch(BacklogNumber backlog) const { prefetch_line(&backlogs_[backlog]); }
  // The memory that the next `count` acquire() will take.
  void prefetch_free(std::uint32_t count) const;

 private:
  static constexpr unsigned kLists = 33;

  static std::uint32_t list_for(const Backlog& backlog);
  void move_to_list(BacklogNumber backlog);

  std::pmr::vector<Backlog> backlogs_;
  std::array<BacklogNumber, kLists> lists_;  // by bit width of chunks; the list of width 0 is not used
  std::uint64_t lists_in_use_ = 0;           // a bit a list
  NumberStack free_;
};

}  // namespace headgate
