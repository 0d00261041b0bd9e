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
constexpr std::uint32_t kSpinning = 2;
constexpr std::uint32_t kWoken = 3;

// How long before a deadline the thread may be awake at most.
constexpr Duration kLead = std::chrono::microseconds(100);
// For which share of all time it may spin; and where precision is high, of the time that is left before a deadline.
constexpr std::int64_t kSpinPercent = 5;
constexpr std::int64_t kHighPercent = 75;

// While it spins, it takes what arrives, unless the deadline is nearer than that may take.
constexpr Duration kReadingTime = std::chrono::microseconds(20);

// A sleep shorter than this is over later than spinning would be.
constexpr Duration kShortestSleep = std::chrono::microseconds(4);

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

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
  deadline_.store(kNoDeadline, std::memory_order_seq_cst);
  state_.exchange(kWaiting, std::memory_order_acq_rel);
}

void TimerWaiter::wait(std::optional<Instant> deadline) {
  if (deadline) {
    deadline_.store(deadline->time_since_epoch().count(), std::memory_order_seq_cst);
    sleep_until(*deadline);
  } else if (reader_ != nullptr) {
    reader_->wait_until(std::nullopt);
  } else {
    while (state_.load(std::memory_order_acquire) == kWaiting) futex_wait(state_, kWaiting, nullptr);
  }
  cancel();
}

void TimerWaiter::sleep_until(Instant deadline) {
  const Instant now = MonotonicClock().now();
  if (deadline <= now) return;
  if (deadline != spins_for_) {
    const Instant awake = deadline - lead(now, deadline);
    if (awake - now >= kShortestSleep || awake == deadline) {
      if (!sleep(now, awake, deadline)) return;
    }
  }
  spin_until(deadline);
}

// Until `awake`. False: there is something to do before the deadline.
bool TimerWaiter::sleep(Instant now, Instant awake, Instant deadline) {
  const timespec limit = to_timespec(awake);
  if (reader_ == nullptr) {
    while (state_.load(std::memory_order_acquire) == kWaiting)
      if (futex_wait(state_, kWaiting, &limit) == ETIMEDOUT) break;
    return true;
  }
  if (deadline - now <= kSoon) {
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, nullptr);
    return true;
  }
  reader_->wait_until(awake);
  return MonotonicClock().now() >= awake;
}

void TimerWaiter::spin_until(Instant deadline) {
  std::uint32_t expected = kWaiting;
  if (!state_.compare_exchange_strong(expected, kSpinning, std::memory_order_acq_rel)) return;
  spins_for_ = deadline;
  MonotonicClock clock;
  const Instant start = clock.now();
  Instant now = start;
  while (now < deadline && state_.load(std::memory_order_acquire) == kSpinning) {
    if (reader_ != nullptr && deadline - now > kReadingTime && reader_->has_arrived()) break;
    pause_briefly();
    now = clock.now();
  }
  allowance_ -= now - start;
  spun_ += now - start;
}

Duration TimerWaiter::lead(Instant now, Instant deadline) {
  if (precision_.load(std::memory_order_relaxed) == Precision::high)
    return std::min<Duration>(kLead, (deadline - now) * kHighPercent / 100);
  const Duration elapsed = std::min<Duration>(now - allowance_time_, std::chrono::seconds(1));
  allowance_ = std::clamp(allowance_ + elapsed * kSpinPercent / 100, -kLead, kLead);
  allowance_time_ = now;
  return std::max(allowance_, Duration::zero());
}

Duration TimerWaiter::processor_time() const {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void TimerWaiter::cancel() {
  state_.store(kAwake, std::memory_order_relaxed);
}

void TimerWaiter::wake() {
  if (state_.exchange(kWoken, std::memory_order_acq_rel) != kWaiting) return;
  if (reader_ != nullptr) {
    reader_->interrupt();
  } else {
    futex_wake(state_);
  }
}

void TimerWaiter::wake_soon() {
  const std::int64_t latest = (MonotonicClock().now() + kSoon).time_since_epoch().count();
  if (deadline_.load(std::memory_order_seq_cst) > latest) wake();
}

}  // namespace headgate
