// What one flow of a class that is policed by a window has sent in it. The state alone: the limit is the class's, and comes
// with every call. Decides as headgate/fixed_window.hpp (aligned) and headgate/sliding_window.hpp (SlidingCounters) do.
//
// Windows begin at whole multiples of their length since the zero of the clock. An instant that lies before the window that
// was reached is taken as its begin. Constant time.
#pragma once

#include <cstdint>

#include "headgate/clock.hpp"
#include "limiters/flow_bucket.hpp"

namespace headgate {

struct WindowLimit {
  std::uint64_t limit = 0;  // units
  Duration length{1};
  bool slides = false;
};

class FlowWindow {
 public:
  // A flow's record has one state, of 24 bytes at least. A bucket that is new is a window that is new.
  static FlowWindow kept_in(const FlowBucket& state);
  void keep_in(FlowBucket& state) const;

  // May n units pass now?
  bool allows(const WindowLimit& limit, std::uint64_t n, Instant now) const;
  // They pass, allowed or not.
  void charge(const WindowLimit& limit, std::uint64_t n, Instant now);

  // Whether a new window in place of this one would treat every packet from `now` on alike.
  bool as_new(const WindowLimit& limit, Instant now) const;

  // Goes over to another limit. What counts at `now` counts in the window of `now`.
  void change(const WindowLimit& before, const WindowLimit& next, Instant now);

 private:
  static constexpr std::int64_t kLongAgo = -(std::int64_t{1} << 62);

  void roll(const WindowLimit& limit, Instant now);
  // In units times nanoseconds of the length.
  Int128 level(const WindowLimit& limit, Instant now) const;

  std::int64_t begin_ = kLongAgo;  // of the present window, in nanoseconds
  std::uint64_t present_ = 0;      // units
  std::uint64_t last_ = 0;         // likewise, of the window before
};

}  // namespace headgate
