// Which queues are the longest of those that share a budget: of one shape, or of all its instances at a worker.
//
// Queues of two or more packets stand in lists by the power of two of their memory, so that one of the longest is found
// at once: the first of the highest list is more than half as long as any. A queue of a single packet is in no list: it
// never pays for another flow.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/backlog_table.hpp"
#include "core/flow_queue.hpp"

namespace headgate {

class LongestQueues {
 public:
  LongestQueues() { lists_.fill(kNoBacklog); }

  // To be called when a queue has become longer or shorter; before its backlog is released, too.
  void resized(BacklogTable& backlogs, BacklogNumber backlog) {
    if (list_for(backlogs[backlog]) != backlogs[backlog].list_) move_to_list(backlogs, backlog);
  }

  // One of the longest queues; kNoBacklog when none has two packets.
  BacklogNumber longest() const;
  // Whether a queue that grew to `chunks` would be in the highest list.
  bool among_longest(std::uint32_t chunks) const;

 private:
  static constexpr unsigned kLists = 33;

  static std::uint32_t list_for(const Backlog& backlog) {
    return backlog.single() ? 0 : static_cast<std::uint32_t>(std::bit_width(backlog.chunks));
  }
  void move_to_list(BacklogTable& backlogs, BacklogNumber number);

  std::array<BacklogNumber, kLists> lists_;  // by bit width of chunks; the list of width 0 is not used
  std::uint64_t lists_in_use_ = 0;           // a bit a list
};

}  // namespace headgate
