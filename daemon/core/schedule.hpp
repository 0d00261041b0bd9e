// When the packets of many shapes leave: one memory of packets and one timing wheel for all shapes of a worker.
//
// Role      pure computation, as core/shaper.hpp: no thread, no clock, no file descriptor. What waits stands in the
//           queues of the shapes' flows; here it is known which flow is next.
// Thread    any, until the first add(); from then on one owner, the worker.
// Time      every call takes `now`; it must not go backwards between calls.
// Memory    is taken as it is used, in steps: grow_ahead() keeps some beyond what is in use. A batch that needs more
//           takes it at once, for the price of page faults. When the source has no more, packets are dropped
//           (pool_full), and what is queued stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/memory_area.hpp"
#include "core/shaper.hpp"
#include "headgate/clock.hpp"
#include "headgate/units.hpp"
#include "vocabulary/drop_reason.hpp"

namespace headgate {

// Address space, not memory: room for what all shapes together may use. Where it does not suffice, packets are dropped
// (pool_full) before their shapes' own bounds are reached.
struct ScheduleLimits {
  DataSize memory{64 * 1024 * 1024};  // of packets
  std::uint32_t max_flows = 65'536;   // that have packets waiting at the same time
};

class Schedule {
 public:
  // `memory` outlives it. Throws std::bad_alloc.
  Schedule(const ScheduleLimits& limits, MemorySource& memory, Instant now);
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Gives the shaper its number, the lowest that is free. It must outlive its stay, and must be removed, with nothing
  // queued, before it or the schedule goes. Throws std::bad_alloc or, when all numbers are given, std::length_error.
  void add(Shaper& shaper);
  void remove(Shaper& shaper);

  // Ends the leases of rates whose time is over: before release(), and one comparison when there is none.
  void end_leases(Instant now);

  // Takes out the packets due by `now`, in order of ideal time, at most out.size(). They count as queued until
  // complete_sent() or complete_dropped() says what became of them; every packet taken must be completed before the
  // next release(), and before admit(), reconfigure(), drop_all() or removal of its shaper.
  std::size_t release(Instant now, std::span<DuePacket> out);

  // The parts of a released packet's frame, in order, as many as needed (see kMaxFrameParts). Returns how many. Valid until it
  // is completed.
  std::size_t frame_parts(const DuePacket& packet, std::span<std::span<const std::byte>> parts) const;

  // Ends packets that release() or Shaper::release_all() gave: sent, or dropped for `reason`. `now` ends their delay, too.
  void complete_sent(std::span<const DuePacket> packets, Instant now);
  void complete_dropped(std::span<const DuePacket> packets, DropReason reason);

  // When the next packet is due: exact; in the past when packets are overdue. Of a shape with a tree it is when a packet may
  // be due: its bucket may let it go before its turn comes. None: nothing is queued, except in suspended shapes.
  std::optional<Instant> next_release() const {
    const Instant first = first_due();
    return first == Instant::max() ? std::nullopt : std::optional(first);
  }
  // The same; the end of time: nothing.
  Instant first_due() const;

  // Some frame that was admitted as lent is neither completed nor copied.
  bool lends() const;
  // Copies every frame that is lent.
  void keep_lent();

  // Makes memory usable some way beyond what is in use. To be called between batches; when there is nothing to do it
  // costs a few comparisons.
  void grow_ahead();

 private:
  std::unique_ptr<ScheduleState> state_;
};

}  // namespace headgate
