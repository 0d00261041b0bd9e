// How a worker sleeps. Its thread waits; any thread wakes it.
#pragma once

#include <optional>

#include "headgate/clock.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class Waiter {
 public:
  virtual ~Waiter() = default;

  // The worker: whose arriving frames end a wait.
  virtual void add(Arrivals& source) = 0;
  virtual void remove(Arrivals& source) = 0;

  // The worker, before it looks for work the last time: from here on wake() is not lost.
  virtual void prepare() = 0;
  // The worker. Sleeps until `deadline` (none: no limit), until frames have arrived, or until a wake() since prepare().
  // `busy`: much has just arrived. Then it looks again after kNap, which costs less than being woken by each packet.
  virtual void wait(std::optional<Instant> deadline, bool busy) = 0;
  // The worker: does not sleep after all.
  virtual void cancel() = 0;

  // The worker: the time for which it has had a processor since some moment. Always the same where that is not known.
  virtual Duration processor_time() const { return Duration::zero(); }

  // Any thread. A system call only when the worker sleeps or is about to.
  virtual void wake() = 0;

  // Any thread. As wake(), but a worker that wakes by itself within kSoon may be left asleep: what it is to find can
  // wait as long. Being woken twice costs much more than being woken once; and where all wake-ups come from the same
  // timer, all are late by about the same, and the departures stay even.
  virtual void wake_soon() { wake(); }

  static constexpr Duration kNap = std::chrono::microseconds(50);
  static constexpr Duration kSoon = std::chrono::microseconds(100);
};

}  // namespace headgate
