// The dead-man switch of all workers of a shape: it is reset only while every one of them gets on.
//
// A worker is a capture loop and the drain thread of its number. It does not get on when frames have waited for its
// capture loop while that has not looked for kReadPatience, when its drain thread is overdue, or when a drain thread has
// left what this capture loop handed over untouched. The first is shorter than the kernel's own patience, which runs
// anew from the last reset: so the host is open 600 ms after one thread of many stands still.
//
// Each member function: capture loops, each with its own `worker`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"
#include "pipeline/hand_off.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class PipelineWatch {
 public:
  struct Watched {
    const PacketSource& source;
    const DrainHealth& drain_health;
  };
  PipelineWatch(DeadManSwitch& dead_man_switch, const std::vector<Watched>& workers);

  // The worker has looked for frames at `now`; whether the drain threads take what it hands over.
  void note_look(std::size_t worker, Instant now, bool drains_take);

  // Resets the switch, as of a `clock` that is read then. False: somebody does not get on, and it was not reset.
  bool reset(std::size_t worker, Instant now, Clock& clock);

  // While a worker is busy and has others to look at, it does so no more often than this.
  bool may_look_later(std::size_t worker, Instant now) const;

  // Any thread. Frames have waited for some worker that has not looked for so long.
  bool leaves_frames(Instant now, Duration patience) const;

  static constexpr Duration kReadPatience = std::chrono::milliseconds(100);
  static constexpr Duration kBusyLook = std::chrono::milliseconds(10);

 private:
  static constexpr std::size_t kCacheLine = 64;

  struct alignas(kCacheLine) Worker {
    const PacketSource* source = nullptr;
    const DrainHealth* drain_health = nullptr;
    Instant reset_at{};                      // its own thread's
    std::atomic<std::int64_t> looked_at{0};  // in nanoseconds of Instant
    std::atomic<bool> drains_take{true};
  };

  bool all_get_on(std::size_t worker, Instant now) const;
  static bool leaves_frames(const Worker& worker, Instant now, Duration patience);

  DeadManSwitch& switch_;
  std::vector<Worker> workers_;
};

}  // namespace headgate
