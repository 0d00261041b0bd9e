// So many units in each window of time. Windows of a fixed length follow one another: either aligned, at whole lengths from
// an origin, or each begins with the first event after the last one's end.
//
// The law holds for each window, not for any time of that length: at the edge of two aligned windows 2 × limit units may
// pass at once, with windows from the first event 2 × limit - 1. Where that is too much, take a SlidingLog.
//
// Windows of any length from 1 ns. Not thread-safe (shared.hpp is). Each call takes constant time, no memory. A clock that
// goes back stands still. Errors: the constructor throws std::invalid_argument for a length below 1 ns.
#pragma once

#include <cstdint>

#include "headgate/answer.hpp"
#include "headgate/wide.hpp"

namespace headgate {

class FixedWindow {
 public:
  enum class Begin : std::uint8_t { aligned, first_event };

  FixedWindow(std::uint64_t limit, Duration length, Begin begin = Begin::aligned, Instant origin = Instant{});

  // May n units pass now? All of them or none. More than the limit: too_many.
  Answer allow(std::uint64_t n, Instant now);

  // What may still pass in the window of `now`.
  std::uint64_t left(Instant now);

  // When the window of `now` ends. From the first event, with none yet: `now` itself.
  Instant end(Instant now);

  // From now on. What the window has let pass stays counted.
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint64_t limit() const { return limit_; }

  // From when on a new one in place of this would say the same to every request, if none comes before.
  Instant as_new_at() const;

 private:
  void roll(Instant now);

  std::uint64_t limit_;
  Duration length_;
  Begin how_;
  Instant origin_;
  Instant latest_ = Instant::min();
  Int128 begin_ = 0;  // of the window, in nanoseconds; from the first event: only while something is used
  std::uint64_t used_ = 0;  // units
};

}  // namespace headgate
