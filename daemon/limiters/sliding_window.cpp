#include "headgate/sliding_window.hpp"

#include <algorithm>
#include <stdexcept>

namespace headgate {
namespace {

constexpr std::uint64_t kMostCounted =
    1'000'000'000'000'000'000;  // its product with any length fits 128 bits

void check_length(Duration length) {
  if (length < Duration{1}) throw std::invalid_argument("a window is at least 1 ns long");
}

}  // namespace

SlidingLog::SlidingLog(std::uint64_t limit, Duration length) : limit_(limit), length_(length) {
  check_length(length);
}

void SlidingLog::forget(Instant now) {
  latest_ = std::max(latest_, now);
  while (!events_.empty() &&
         nanoseconds_of(latest_) - nanoseconds_of(events_.front().at) >= length_.count()) {
    used_ -= events_.front().units;
    events_.pop_front();
  }
}

Answer SlidingLog::allow(std::uint64_t n, Instant now) {
  if (n > limit_) return Refusal::too_many;
  forget(now);
  if (used_ > limit_ - n) return Refusal::not_now;
  if (n == 0) return {};
  if (!events_.empty() && events_.back().at == latest_) {
    events_.back().units += n;
  } else {
    events_.push_back({latest_, n});
  }
  used_ += n;
  return {};
}

std::uint64_t SlidingLog::left(Instant now) {
  forget(now);
  return limit_ - std::min(limit_, used_);
}

Instant SlidingLog::as_new_at() const {
  return events_.empty() ? latest_ : instant_at(nanoseconds_of(events_.back().at) + length_.count());
}

SlidingCounters::SlidingCounters(std::uint64_t limit, Duration length, Instant origin)
    : length_(length), begin_(nanoseconds_of(origin)) {
  check_length(length);
  set_limit(limit);
}

void SlidingCounters::set_limit(std::uint64_t limit) {
  if (limit > kMostCounted) throw std::invalid_argument("a limit of counters is at most 10^18");
  limit_ = limit;
}

void SlidingCounters::roll(Instant now) {
  latest_ = std::max(latest_, now);
  const Int128 windows = rounded_down_quotient(nanoseconds_of(latest_) - begin_, length_.count());
  if (windows == 0) return;
  last_ = windows == 1 ? present_ : 0;
  present_ = 0;
  begin_ += windows * length_.count();
}

// In units times nanoseconds of the length.
Int128 SlidingCounters::used() const {
  const Int128 of_last = length_.count() - (nanoseconds_of(latest_) - begin_);
  return last_ * of_last + Int128{present_} * length_.count();
}

Answer SlidingCounters::allow(std::uint64_t n, Instant now) {
  if (n > limit_) return Refusal::too_many;
  roll(now);
  if (used() + Int128{n} * length_.count() > Int128{limit_} * length_.count()) return Refusal::not_now;
  present_ += n;
  return {};
}

std::uint64_t SlidingCounters::left(Instant now) {
  roll(now);
  return whole_number((Int128{limit_} * length_.count() - used()) / length_.count());
}

Instant SlidingCounters::as_new_at() const {
  const int windows = present_ > 0 ? 2 : last_ > 0 ? 1 : 0;
  return windows == 0 ? latest_ : instant_at(begin_ + Int128{windows} * length_.count());
}

}  // namespace headgate
