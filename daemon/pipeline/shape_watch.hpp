// The dead-man switch of a shape, whose workers reset it together: it is reset only while every one of them gets on.
//
// A worker does not get on when frames or hand-overs have waited for it, or a packet has been due, while it has not gone
// round for kLookPatience. That is shorter than the kernel's own patience, which runs anew from the last reset: so the
// host is open 600 ms after one thread of many stands still.
//
// While the switch was open younger packets have passed what waits here. Then every part drops what it has before the
// switch is reset: a flow never overtakes itself.
//
// A part is a worker of the shape, by its number. Each member function: that worker, but for what says otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"
#include "pipeline/hand_off.hpp"
#include "pipeline/packet_io.hpp"
#include "pipeline/waiter.hpp"
#include "pipeline/worker_health.hpp"

namespace headgate {

class ShapeWatch {
 public:
  struct Watched {
    const PacketSource& source;
    const WorkerHealth& health;
    Waiter& waiter;
    std::vector<const HandOff*> inputs;  // from the other parts
  };
  ShapeWatch(DeadManSwitch& dead_man_switch, std::vector<Watched> parts);

  // How long what has just been read may have waited.
  Duration unread_for(Instant now) const { return switch_.unread_for(now); }

  // Whether this part is to drop what it has; it calls cleared() when it has nothing more. The first part that finds
  // out tells the others.
  bool must_clear(std::size_t part, Instant now);
  // Another part has found out, and this one has not cleared yet.
  bool told(std::size_t part) const;
  void cleared(std::size_t part, Clock& clock);

  // Resets the switch, at the time that `clock` shows then. False: it was not reset, because some part does not get on
  // or must clear; this part is to ask must_clear() again.
  bool reset(std::size_t part, Instant now, Clock& clock);

  // While a part is busy and has others to look at, it does so no more often than this.
  bool may_reset_later(std::size_t part, Instant now) const;

  // Any thread. Some part has had work for so long without going round.
  bool stands_still(Instant now, Duration patience) const;

  static constexpr Duration kLookPatience = std::chrono::milliseconds(100);
  static constexpr Duration kBusyLook = std::chrono::milliseconds(5);

 private:
  static constexpr std::size_t kCacheLine = 64;

  struct alignas(kCacheLine) Part {
    explicit Part(Watched own) : watched(std::move(own)) {}
    Part(Part&& other) noexcept : watched(std::move(other.watched)) {}

    Watched watched;
    Instant reset_at{};                        // its own worker's
    std::atomic<std::uint64_t> cleared_at{0};  // the opening for which it has cleared
  };

  bool has_been_open(Instant now) const;
  bool all_cleared() const;
  static bool stands_still(const Part& part, Instant now, Duration patience);

  DeadManSwitch& switch_;
  std::vector<Part> parts_;
  std::atomic<std::uint64_t> opening_{0};  // counts those for which everybody must clear
};

}  // namespace headgate
