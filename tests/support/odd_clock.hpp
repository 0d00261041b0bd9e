// A clock as bad as clocks get: it stands still, creeps, jumps forward by years, and goes back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "support/manual_clock.hpp"

namespace headgate {

class OddClock {
 public:
  // Steps of about `usual`.
  OddClock(std::mt19937_64& random, Duration usual) : random_(random), usual_(usual) {}

  Instant next() {
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
        break;
      case 3:
        now_ -= Duration(random_() % (8 * usual_.count()));
        break;
      case 4:
        now_ += Duration(random_() % (32 * usual_.count()));
        break;
      case 5:
        if (random_() % 64 == 0) now_ += std::chrono::days(random_() % 3650);
        break;
      default:
        now_ += Duration(random_() % (2 * usual_.count()));
    }
    latest_ = std::max(latest_, now_);
    return now_;
  }

  // What a limiter should take for now.
  Instant latest() const { return latest_; }

 private:
  std::mt19937_64& random_;
  Duration usual_;
  Instant now_ = kTestStart;
  Instant latest_ = Instant::min();
};

}  // namespace headgate
