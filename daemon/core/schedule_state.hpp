// What the shapes of a schedule share. Private to the core.
//
// A packet's way: admit() finds its flow and room for it, store() copies it to the pool, enqueue() appends it to the
// flow's queue, and the wheel holds the flow at the time at which its first packet may leave. release() takes the flow out
// of the wheel, commits the packet's cost to the bucket, takes the packet out and puts the flow back for the next one. The
// packet is counted as queued until it is completed. A flow of a class that is in its shape's tree goes from the wheel to the
// class's round, and from there when the tree says that it is the class's turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/backlog_table.hpp"
#include "core/memory_area.hpp"
#include "core/packet_pool.hpp"
#include "core/schedule.hpp"
#include "core/timing_wheel.hpp"
#include "core/turn_table.hpp"
#include "limiters/indexed_heap.hpp"

namespace headgate {

// Packets that are worked on together.
inline constexpr std::size_t kBatch = 64;
// Up to so many flows, everything is in the processor's cache, and fetching it ahead costs more than it gains.
inline constexpr std::uint64_t kFlowsInCache = 2'000;
inline constexpr std::size_t kClassesInCache = 32;  // likewise

struct ScheduleState {
  ScheduleState(const ScheduleLimits& limits, MemorySource& memory);

  // departure.cpp
  std::size_t release_immediate(std::span<DuePacket> out);
  std::size_t release_first(Instant now, std::span<DuePacket> out);

  // tree_departure.cpp
  std::size_t release_from_trees(Instant now, std::span<DuePacket> out);

  // prefetching.cpp
  void prefetch(std::span<const TimingWheel::Item> due) const;

  PacketPool pool;
  BacklogTable backlogs;
  TimingWheel
      wheel;  // of flows, at the times at which their first packets may leave; but of suspended shapes

  // Of shapes that have a tree: their numbers, by the time at which a packet may leave there.
  IndexedHeap trees;
  IndexedHeap::Places tree_places;
  TurnTable turns;  // by backlog

  Instant next_lease_end = Instant::max();  // of all shapes, or earlier

  std::vector<ShaperState*> shapes;  // by number; null: free
  std::uint32_t queues = 0;     // flows of all shapes that have packets waiting: room in the wheel is theirs
  std::uint64_t flows = 0;      // flow records of all shapes
  bool some_immediate = false;  // a shape may have packets that are due at once
  bool some_short = false;      // the flow table of a shape may be about to use up its memory
};

}  // namespace headgate
