// Time as headgate knows it: nanoseconds on one time line, as the kernel's CLOCK_MONOTONIC gives them.
//
// No limiter reads a clock, nor do the daemon's core and pipeline. Whoever needs the time there is handed an Instant or a
// Clock, so a test or a simulator may run ten virtual years in a second.
#pragma once

#include <chrono>
#include <cstdint>

namespace headgate {

using Duration = std::chrono::nanoseconds;

// Names the time line of Instant; deliberately without now().
struct MonotonicTimeline {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicTimeline, duration>;
  static constexpr bool is_steady = true;
};

using Instant = MonotonicTimeline::time_point;

// What another clock has read: instant_of(std::chrono::steady_clock::now()). Instants of different clocks do not mix.
template <typename OtherClock, typename Any>
constexpr Instant instant_of(std::chrono::time_point<OtherClock, Any> reading) {
  return Instant{std::chrono::duration_cast<Duration>(reading.time_since_epoch())};
}

// The only source of "now", and the only short sleep, that loops are given. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
  virtual void sleep(Duration duration) = 0;
};

}  // namespace headgate
