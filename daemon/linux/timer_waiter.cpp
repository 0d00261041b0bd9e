#include "linux/timer_waiter.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "linux/system_call.hpp"

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

// poll() calls a packet ring readable for as long as the slot that the kernel filled last has not been given back, also
// when it has been received. The naps between two looks then start with the first and double up to the second.
constexpr Duration kShortestNap = std::chrono::microseconds(20);
constexpr Duration kLongestNap = std::chrono::milliseconds(1);

// A sleep shorter than this is over later than spinning would be.
constexpr Duration kShortestSleep = std::chrono::microseconds(4);

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
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

TimerWaiter::TimerWaiter()
    : event_(check_system_call("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      polled_{{.fd = event_.get(), .events = POLLIN, .revents = 0}} {}

void TimerWaiter::add(Arrivals& source) {
  sources_.push_back(&source);
  polled_.push_back({.fd = source.descriptor(), .events = POLLIN, .revents = 0});
}

void TimerWaiter::remove(Arrivals& source) {
  const auto found = std::find(sources_.begin(), sources_.end(), &source);
  if (found == sources_.end()) return;
  polled_.erase(polled_.begin() + 1 + (found - sources_.begin()));
  sources_.erase(found);
}

void TimerWaiter::prepare() {
  deadline_.store(kNoDeadline, std::memory_order_seq_cst);
  state_.exchange(kWaiting, std::memory_order_acq_rel);
}

void TimerWaiter::wait(std::optional<Instant> deadline, bool busy) {
  if (deadline) {
    deadline_.store(deadline->time_since_epoch().count(), std::memory_order_seq_cst);
    sleep_until(*deadline, busy);
  } else {
    wait_for_arrivals(std::nullopt, busy);
  }
  cancel();
}

void TimerWaiter::sleep_until(Instant deadline, bool busy) {
  const Instant now = MonotonicClock().now();
  if (deadline <= now) return;
  if (deadline != spins_for_) {
    const Instant awake = deadline - lead(now, deadline);
    if (awake - now >= kShortestSleep || awake == deadline) {
      if (!sleep(now, awake, deadline, busy)) return;
    }
  }
  spin_until(deadline);
}

// Until `awake`. False: there is something to do before the deadline.
bool TimerWaiter::sleep(Instant now, Instant awake, Instant deadline, bool busy) {
  if (deadline - now <= kSoon) {
    const timespec limit = to_timespec(awake);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit, nullptr);
    return true;
  }
  wait_for_arrivals(awake, busy);
  return MonotonicClock().now() >= awake;
}

// A source may be readable though no frame has arrived, while slots are out: then it naps, and looks at the sources again.
void TimerWaiter::wait_for_arrivals(std::optional<Instant> until, bool busy) {
  MonotonicClock clock;
  const auto left = [&]() -> std::optional<Duration> {
    if (!until) return std::nullopt;
    return std::max(*until - clock.now(), Duration::zero());
  };
  if (busy) return clock.sleep(std::min(left().value_or(kNap), kNap));
  Duration nap = kShortestNap;
  const auto nothing_yet = [this] {
    for (Arrivals* source : sources_) source->before_wait();
    return state_.load(std::memory_order_acquire) == kWaiting && !has_arrived();
  };
  for (bool napping = false; nothing_yet(); napping = !napping) {
    std::optional<Duration> limit = left();
    if (limit == Duration::zero()) return;
    if (napping) {
      limit = std::min(limit.value_or(nap), nap);
      nap = std::min(2 * nap, kLongestNap);
    }
    if (!poll(limit, !napping)) return;
  }
}

// Until the event, a source (where `sources_too`) or the limit. False: a source has an error, or the limit is over.
bool TimerWaiter::poll(std::optional<Duration> limit, bool sources_too) {
  const timespec time = to_timespec(Instant(limit.value_or(Duration::zero())));
  const int ready = ppoll(polled_.data(), sources_too ? polled_.size() : 1, limit ? &time : nullptr, nullptr);
  if (ready <= 0) return ready < 0 || !sources_too;
  if (polled_.front().revents != 0) {
    std::uint64_t wake_ups = 0;
    [[maybe_unused]] const ssize_t bytes = read(event_.get(), &wake_ups, sizeof wake_ups);
  }
  if (!sources_too) return true;
  bool error = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if ((polled_[i + 1].revents & POLLERR) == 0) continue;
    sources_[i]->note_error();
    error = true;
  }
  return !error;
}

bool TimerWaiter::has_arrived() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Arrivals* source) { return source->waiting(); });
}

void TimerWaiter::spin_until(Instant deadline) {
  std::uint32_t expected = kWaiting;
  if (!state_.compare_exchange_strong(expected, kSpinning, std::memory_order_acq_rel)) return;
  spins_for_ = deadline;
  MonotonicClock clock;
  const Instant start = clock.now();
  Instant now = start;
  while (now < deadline && state_.load(std::memory_order_acquire) == kSpinning) {
    if (deadline - now > kReadingTime && has_arrived()) break;
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
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the event is there already.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

void TimerWaiter::wake_soon() {
  const std::int64_t latest = (MonotonicClock().now() + kSoon).time_since_epoch().count();
  if (deadline_.load(std::memory_order_seq_cst) > latest) wake();
}

}  // namespace headgate
