#include "headgate/interval_bucket.hpp"

#include <algorithm>
#include <stdexcept>

namespace headgate {
namespace {

constexpr std::uint64_t kMostTokens = 1'000'000'000'000'000'000;  // their periods of any length fit 128 bits

Int128 portions_for(std::uint64_t tokens, std::uint64_t portion) {
  return tokens / portion + (tokens % portion != 0 ? 1 : 0);
}

}  // namespace

IntervalBucket::IntervalBucket(std::uint64_t portion, Duration period, std::uint64_t capacity, Instant start)
    : portion_(portion),
      period_(period),
      capacity_(capacity),
      tokens_(capacity),
      begin_(nanoseconds_of(start)) {
  if (portion < 1 || period < Duration{1})
    throw std::invalid_argument("tokens come in portions from 1, after 1 ns or more");
  if (capacity > kMostTokens) throw std::invalid_argument("a capacity is at most 10^18");
}

void IntervalBucket::refill(Instant now) {
  latest_ = std::max(latest_, now);
  const Int128 periods = rounded_down_quotient(nanoseconds_of(latest_) - begin_, period_.count());
  begin_ += periods * period_.count();
  if (periods >= portions_for(capacity_ - tokens_, portion_)) {
    tokens_ = capacity_;
  } else if (periods > 0) {
    tokens_ += static_cast<std::uint64_t>(periods) * portion_;
  }
}

Instant IntervalBucket::filled_at(std::uint64_t n) const {
  if (n <= tokens_) return latest_;
  return instant_at(begin_ + portions_for(n - tokens_, portion_) * period_.count());
}

Answer IntervalBucket::allow(std::uint64_t n, Instant now) {
  if (n > capacity_) return Refusal::too_many;
  refill(now);
  if (n > tokens_) return Refusal::not_now;
  tokens_ -= n;
  return {};
}

std::optional<Duration> IntervalBucket::wait(std::uint64_t n, Instant now) {
  if (n > capacity_) return std::nullopt;
  refill(now);
  return whole_duration(nanoseconds_of(filled_at(n)) - nanoseconds_of(latest_));
}

std::uint64_t IntervalBucket::tokens(Instant now) {
  refill(now);
  return tokens_;
}

}  // namespace headgate
