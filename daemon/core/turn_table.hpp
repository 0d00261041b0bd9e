// What the rounds (limiters/round.hpp) keep of all backlogs of a schedule, by number.
#pragma once

#include <cstdint>

#include "core/flow_queue.hpp"
#include "core/growing_table.hpp"
#include "core/memory_area.hpp"
#include "limiters/round.hpp"

namespace headgate {

class TurnTable {
 public:
  TurnTable(std::uint32_t capacity, MemorySource& memory) : turns_(capacity, memory) {}

  // Below `end` there is memory for all. False: the host has no more.
  bool make_ready(std::uint32_t end) { return turns_.grow_to(end); }
  Turn& operator[](BacklogNumber backlog) { return turns_[backlog]; }
  const Turn& operator[](BacklogNumber backlog) const { return turns_[backlog]; }

 private:
  GrowingTable<Turn> turns_;
};

}  // namespace headgate
