// What a limiter says to a request: yes, or why not. Nothing here throws on the way of a request.
#pragma once

#include <cstdint>

#include "headgate/clock.hpp"

namespace headgate {

enum class Refusal : std::uint8_t {
  none,
  not_now,   // the rate or the window is used up, or the wait would be longer than the caller allows
  too_many,  // more at once than the burst, capacity or limit: no waiting helps, it is an error of the caller
  no_room,   // of keys or of waiters there are as many as may be
  cancelled,  // the caller gave up
  unknown,    // there is no such class: an error of the caller
};

// True: passed, and charged. False: nothing was charged.
struct Answer {
  Refusal refusal = Refusal::none;

  constexpr Answer() = default;
  constexpr Answer(Refusal why) : refusal(why) {}
  constexpr explicit operator bool() const { return refusal == Refusal::none; }
  bool operator==(const Answer&) const = default;
};

// True: charged, to be used at `at`. The rest is for cancel(). Cancel one reservation once, and no copy of it.
struct Reservation {
  Refusal refusal = Refusal::none;
  Instant at{};
  std::uint64_t units = 0;
  std::uint64_t taken = 0;  // of the limiter since its beginning, with these units
  Instant promised{};       // before it: the latest instant that was promised

  constexpr explicit operator bool() const { return refusal == Refusal::none; }
};

}  // namespace headgate
