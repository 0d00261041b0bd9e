// Waits at one source, as a worker does at all of its own.
#pragma once

#include <optional>

#include "linux/timer_waiter.hpp"

namespace headgate::test {

class SourceWaiter {
 public:
  explicit SourceWaiter(PacketSource& source) : source_(source) { waiter_.add(source); }
  ~SourceWaiter() { waiter_.remove(source_); }
  SourceWaiter(const SourceWaiter&) = delete;
  SourceWaiter& operator=(const SourceWaiter&) = delete;

  // Until a frame has arrived, a wake() since the last wait() began, or the time is over (none: no limit).
  void wait(std::optional<Duration> timeout) {
    waiter_.prepare();
    wait_prepared(timeout);
  }
  void prepare() { waiter_.prepare(); }
  void wait_prepared(std::optional<Duration> timeout) {
    std::optional<Instant> deadline;
    if (timeout) deadline = MonotonicClock().now() + *timeout;
    waiter_.wait(deadline, false);
  }
  void wake() { waiter_.wake(); }  // any thread

 private:
  PacketSource& source_;
  TimerWaiter waiter_;
};

}  // namespace headgate::test
