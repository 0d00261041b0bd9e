// The drain thread's sleep as a futex with an absolute CLOCK_MONOTONIC deadline, and the clock itself.
//
// The kernel wakes a thread some microseconds late, and no two times equally. So the thread sleeps until shortly before
// the deadline and spins for the rest, within an allowance: a share of the time that passes, whether it slept or not.
#pragma once

#include <atomic>
#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/config.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

class MonotonicClock : public Clock {
 public:
  Instant now() override;
  void sleep(Duration duration) override;
};

// wake() costs one atomic exchange while the drain thread is busy or spins, and a system call when it sleeps.
class TimerWaiter : public Waiter {
 public:
  void prepare() override;
  void wait(std::optional<Instant> deadline) override;
  void cancel() override;
  void wake() override;

  // Any thread; from the next wait() on.
  void set_precision(Precision precision) { precision_.store(precision, std::memory_order_relaxed); }

  // Time spent spinning since construction. Waiting thread.
  Duration spun() const { return spun_; }

 private:
  void sleep_until(Instant deadline);
  void spin_until(Instant deadline);
  Duration allowed_lead(Instant now);

  // prepare() and wake() exchange this word, so one of the two sees the other: either wake() finds somebody
  // waiting, or prepare() acquires what was published before the wake().
  std::atomic<std::uint32_t> state_{0};
  std::atomic<Precision> precision_{Precision::normal};

  // Waiting thread.
  Duration allowance_{};  // of spinning
  Instant allowance_time_{};
  Duration spun_{};
};

}  // namespace headgate
