// So many units in a window of time that slides.
//
// SlidingLog remembers what has passed, and is exact: in no time of the window's length, its end excluded, more than the
// limit passes. It takes memory, 16 bytes for each event that is in the window, at most `limit` of them.
//
// SlidingCounters keeps two counters, of the present and the last aligned window, and takes what has passed in the last one
// as evenly spread:
//
//     level = last × (length - time in the present window) / length + present
//
// So it is an estimate, computed exactly: never more than the limit at once, nor in an aligned window; but after a last
// window whose events all came at its end, up to less than twice the limit in a time of the window's length.
//
// Not thread-safe (shared.hpp is). A clock that goes back stands still. Errors: std::invalid_argument for a length below 1 ns,
// of SlidingCounters also for a limit above 10^18; SlidingLog::allow() may throw std::bad_alloc, and has then charged nothing.
#pragma once

#include <cstdint>
#include <deque>

#include "headgate/answer.hpp"
#include "headgate/wide.hpp"

namespace headgate {

class SlidingLog {
 public:
  SlidingLog(std::uint64_t limit, Duration length);

  // May n units pass now? All of them or none. More than the limit: too_many. Constant time, averaged over the calls.
  Answer allow(std::uint64_t n, Instant now);

  // What may pass now.
  std::uint64_t left(Instant now);

  // From now on. What has passed stays counted.
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const { return limit_; }

  // From when on a new one in place of this would say the same to every request, if none comes before.
  Instant as_new_at() const;

 private:
  struct Event {
    Instant at;
    std::uint64_t units;
  };

  void forget(Instant now);

  std::uint64_t limit_;
  Duration length_;
  Instant latest_ = Instant::min();
  std::deque<Event> events_;  // those in the window, oldest first
  std::uint64_t used_ = 0;    // their units
};

class SlidingCounters {
 public:
  SlidingCounters(std::uint64_t limit, Duration length, Instant origin = Instant{});

  // May n units pass now? All of them or none. More than the limit: too_many. Constant time, no memory.
  Answer allow(std::uint64_t n, Instant now);

  // What may pass now.
  std::uint64_t left(Instant now);

  // From now on. What has passed stays counted.
  void set_limit(std::uint64_t limit);
  std::uint64_t limit() const { return limit_; }

  Instant as_new_at() const;

 private:
  void roll(Instant now);
  Int128 used() const;

  std::uint64_t limit_ = 0;
  Duration length_;
  Instant latest_ = Instant::min();
  Int128 begin_;            // of the present window, in nanoseconds
  std::uint64_t last_ = 0;  // units
  std::uint64_t present_ = 0;
};

}  // namespace headgate
