// The drain thread's sleep as a futex with an absolute CLOCK_MONOTONIC deadline, and the clock itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "headgate/clock.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

class MonotonicClock : public Clock {
 public:
  Instant now() override;
  void sleep(Duration duration) override;
};

// wake() costs one atomic exchange while the drain thread is busy, and a system call when it sleeps.
class TimerWaiter : public Waiter {
 public:
  void prepare() override;
  void wait(std::optional<Instant> deadline) override;
  void cancel() override;
  void wake() override;

 private:
  // prepare() and wake() exchange this word, so one of the two sees the other: either wake() finds somebody
  // waiting, or prepare() acquires what was published before the wake().
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace headgate
