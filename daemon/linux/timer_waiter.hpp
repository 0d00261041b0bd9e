// A worker's sleep until an absolute CLOCK_MONOTONIC deadline, until a frame arrives at one of its sources, or until it is
// woken; and the clock itself.
//
// The kernel wakes a thread some microseconds late, and no two times equally. So the thread sleeps until shortly before
// the deadline and spins for the rest, within an allowance: a share of the time that passes, whether it slept or not.
// Where precision is high it always spins, but sleeps for a share of what is left before the deadline.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "headgate/clock.hpp"
#include "linux/file_descriptor.hpp"
#include "pipeline/waiter.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class MonotonicClock : public Clock {
 public:
  Instant now() override;
  void sleep(Duration duration) override;
};

// wake() costs one atomic exchange while the worker is busy or spins, and a system call when it sleeps.
class TimerWaiter : public Waiter {
 public:
  TimerWaiter();  // throws std::system_error

  void add(Arrivals& source) override;
  void remove(Arrivals& source) override;
  void prepare() override;
  void wait(std::optional<Instant> deadline, bool busy) override;
  void cancel() override;
  void wake() override;
  void wake_soon() override;
  Duration processor_time() const override;

  // Any thread; from the next wait() on.
  void set_precision(Precision precision) { precision_.store(precision, std::memory_order_relaxed); }

  // Time spent spinning since construction. Waiting thread.
  Duration spun() const { return spun_; }

 private:
  void sleep_until(Instant deadline, bool busy);
  bool sleep(Instant now, Instant awake, Instant deadline, bool busy);
  void spin_until(Instant deadline);
  Duration lead(Instant now, Instant deadline);
  void wait_for_arrivals(std::optional<Instant> until, bool busy);
  bool poll(std::optional<Duration> limit, bool sources_too);
  bool has_arrived() const;

  // prepare() and wake() exchange this word, so one of the two sees the other: either wake() finds somebody
  // waiting, or prepare() acquires what was published before the wake().
  std::atomic<std::uint32_t> state_{0};
  // Of the wait() that goes on, in nanoseconds of Instant; kNoDeadline from prepare() on until it is known. Sequentially
  // consistent, like what is published before a wake_soon(): either that finds the deadline of now or none, or the look
  // for work between prepare() and wait() finds what was published.
  static constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> deadline_{kNoDeadline};
  std::atomic<Precision> precision_{Precision::normal};

  FileDescriptor event_;  // written by wake()

  // Waiting thread.
  std::vector<Arrivals*> sources_;
  // The event, and each source in its order. For poll(): with epoll the kernel would pay for each frame that arrives, also
  // while nobody waits.
  std::vector<pollfd> polled_;
  Duration allowance_{};  // of spinning
  Instant allowance_time_{};
  // The last deadline before which it spun: what interrupts that does not send it to sleep again.
  Instant spins_for_{};
  Duration spun_{};
};

}  // namespace headgate
