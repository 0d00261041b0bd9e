// What a host wants of a budget: what arrives, dropped packets included, and what sends the backlog in half a
// second, with 2 % added. A sender that is held back, as TCP is, shows by its backlog. More demand counts at once,
// less with a time constant of 50 ms, so that a pause of a few packets gives little away. Pure; one thread.
#pragma once

#include "headgate/clock.hpp"
#include "headgate/units.hpp"

namespace headgate {

class DemandMeter {
 public:
  static constexpr Duration kLook = std::chrono::milliseconds(50);  // from one measure() to the next

  // `arrived`: all bytes since the beginning; a number that is smaller than the last begins anew. A look less than
  // 40 ms after the last gives what that gave. The first knows the backlog only.
  BitRate measure(DataSize arrived, DataSize backlog, Instant now);

 private:
  bool has_begun_ = false;
  DataSize arrived_;
  Instant measured_{};
  double wanted_ = 0;  // bit/s, without what is added
};

}  // namespace headgate
