#include "linux/timer_waiter.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headgate {

namespace {

constexpr std::uint32_t kAwake = 0;
constexpr std::uint32_t kWaiting = 1;
constexpr std::uint32_t kWoken = 2;

// Without FUTEX_CLOCK_REALTIME the deadline of FUTEX_WAIT_BITSET is absolute CLOCK_MONOTONIC.
int futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, const timespec* deadline) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr,
                              FUTEX_BITSET_MATCH_ANY);
  return result < 0 ? errno : 0;
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

timespec to_timespec(Instant instant) {
  const auto since_zero = std::max(instant.time_since_epoch(), Duration::zero());
  return {.tv_sec = since_zero.count() / 1'000'000'000, .tv_nsec = since_zero.count() % 1'000'000'000};
}

}  // namespace

Instant MonotonicClock::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

void MonotonicClock::sleep(Duration duration) {
  const timespec time = to_timespec(Instant(duration));
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

void TimerWaiter::prepare() {
  state_.exchange(kWaiting, std::memory_order_acq_rel);
}

void TimerWaiter::wait(std::optional<Instant> deadline) {
  const timespec limit = to_timespec(deadline.value_or(Instant{}));
  while (state_.load(std::memory_order_acquire) == kWaiting)
    if (futex_wait(state_, kWaiting, deadline ? &limit : nullptr) == ETIMEDOUT) break;
  cancel();
}

void TimerWaiter::cancel() {
  state_.store(kAwake, std::memory_order_relaxed);
}

void TimerWaiter::wake() {
  if (state_.exchange(kWoken, std::memory_order_acq_rel) == kWaiting) futex_wake(state_);
}

}  // namespace headgate
