#include "headgate/token_bucket.hpp"

#include <algorithm>

namespace headgate {

TokenBucket::TokenBucket(UnitRate rate, std::uint64_t burst)
    : accrual_(rate), burst_(burst), tokens_(accrual_.parts(burst)) {}

void TokenBucket::refill(Instant now) {
  tokens_ = std::min(tokens_ + accrual_.advance(now), accrual_.parts(burst_));
}

TokenBucket::Parts TokenBucket::at_hand() const {
  if (!promised_at_other_rate_) return tokens_;
  return std::min(tokens_, accrual_.in(nanoseconds_of(accrual_.latest()) - nanoseconds_of(promised_)));
}

void TokenBucket::take(Parts left, std::uint64_t n) {
  tokens_ = left;
  taken_ += n;
}

Answer TokenBucket::allow(std::uint64_t n, Instant now) {
  if (n > burst_) return Refusal::too_many;
  refill(now);
  const Parts left = at_hand() - accrual_.parts(n);
  if (left < 0) return Refusal::not_now;
  take(left, n);
  return {};
}

Reservation TokenBucket::reserve(std::uint64_t n, Instant now, Duration max_wait) {
  if (n > burst_) return {Refusal::too_many};
  refill(now);
  const Parts left = at_hand() - accrual_.parts(n);
  const Int128 wait = left < 0 ? accrual_.nanoseconds_for(-left) : 0;
  if (wait > std::min(max_wait, Accrual::kLongestWait).count()) return {Refusal::not_now};
  take(left, n);
  const Reservation made{Refusal::none, instant_at(nanoseconds_of(accrual_.latest()) + wait), n, taken_,
                         promised_};
  if (made.at >= promised_) {
    promised_ = made.at;
    promised_at_other_rate_ = false;
  }
  return made;
}

void TokenBucket::cancel(Reservation& reservation, Instant now) {
  refill(now);
  if (!reservation || reservation.at < accrual_.latest()) return;
  const std::uint64_t taken_after = taken_ - reservation.taken;
  if (taken_after < reservation.units) tokens_ += accrual_.parts(reservation.units - taken_after);
  if (taken_after == 0) {
    taken_ -= reservation.units;
    promised_ = reservation.promised;
  }
  refill(now);
  reservation.refusal = Refusal::cancelled;
}

std::optional<Duration> TokenBucket::wait(std::uint64_t n, Instant now) {
  if (n > burst_) return std::nullopt;
  refill(now);
  const Parts missing = accrual_.parts(n) - at_hand();
  return missing > 0 ? whole_duration(accrual_.nanoseconds_for(missing)) : Duration::zero();
}

std::int64_t TokenBucket::tokens(Instant now) {
  refill(now);
  return accrual_.whole_units(at_hand());
}

void TokenBucket::set_rate(UnitRate rate, Instant now) {
  refill(now);
  const bool waiting = promised_ > accrual_.latest();
  tokens_ = accrual_.change(rate, waiting ? tokens_ : at_hand());
  promised_at_other_rate_ = waiting;
}

void TokenBucket::set_burst(std::uint64_t burst, Instant now) {
  refill(now);
  burst_ = burst;
  refill(now);
}

Instant TokenBucket::as_new_at() const {
  const Parts missing = accrual_.parts(burst_) - at_hand();
  return instant_at(nanoseconds_of(accrual_.latest()) + accrual_.nanoseconds_for(missing));
}

}  // namespace headgate
