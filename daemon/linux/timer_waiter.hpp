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

class TimerWaiter : public Waiter {
 public:
  void prepare() override;
  void wait(std::optional<Instant> deadline) override;
  void cancel() override;
  void wake() override;

 private:
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace headgate
