// How the drain thread sleeps. One thread waits; any thread wakes it.
#pragma once

#include <optional>

#include "headgate/clock.hpp"

namespace headgate {

class Waiter {
 public:
  virtual ~Waiter() = default;

  // Drain thread, before it looks for work the last time: from here on wake() is not lost.
  virtual void prepare() = 0;
  // Drain thread. Sleeps until `deadline` (none: no limit) or until a wake() since prepare().
  virtual void wait(std::optional<Instant> deadline) = 0;
  // Drain thread: does not sleep after all.
  virtual void cancel() = 0;

  // Drain thread: the time for which it has had a processor since some moment. Always the same where that is not known.
  virtual Duration processor_time() const { return Duration::zero(); }

  // Any thread. A system call only when the drain thread sleeps or is about to.
  virtual void wake() = 0;

  // Any thread. As wake(), but may leave a drain thread asleep that wakes by itself within kSoon: what it is to find then
  // can wait as long, and being woken twice costs much more than being woken once; and where each wake-up comes from the
  // same timer, each is late by about the same, and the departures stay even.
  virtual void wake_soon() { wake(); }
  static constexpr Duration kSoon = std::chrono::microseconds(100);
};

}  // namespace headgate
