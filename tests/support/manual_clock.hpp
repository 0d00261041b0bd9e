// A clock that stands still until a test moves it.
#pragma once

#include <atomic>
#include <functional>

#include "headgate/clock.hpp"

namespace headgate {

// Where virtual time begins: far from zero, so that a test notices who takes zero for "never" or "now". It is
// no multiple of a power of two or of a millisecond either.
inline constexpr Instant kTestStart{Duration{7'654'321'987'654'321}};

// Safe to read in one thread while another moves it.
class ManualClock : public Clock {
 public:
  explicit ManualClock(Instant start = kTestStart) : now_(start.time_since_epoch().count()) {}

  Instant now() override { return Instant{Duration{now_.load()}}; }
  void sleep(Duration duration) override {
    advance(duration);
    if (on_sleep) on_sleep();
  }
  void advance(Duration duration) { now_ += duration.count(); }
  void set(Instant instant) { now_ = instant.time_since_epoch().count(); }

  std::function<void()> on_sleep;  // of one thread

 private:
  std::atomic<Duration::rep> now_;
};

}  // namespace headgate
