#include "headgate/leaky_bucket.hpp"

#include <algorithm>

namespace headgate {

LeakyBucket::LeakyBucket(UnitRate rate, std::uint64_t capacity) : accrual_(rate), capacity_(capacity) {}

void LeakyBucket::leak(Instant now) {
  level_ = std::max<Accrual::Parts>(0, level_ - accrual_.advance(now));
}

Reservation LeakyBucket::reserve(std::uint64_t n, Instant now, Duration max_wait) {
  if (n > capacity_) return {Refusal::too_many};
  leak(now);
  const Accrual::Parts filled = level_ + accrual_.parts(n);
  const Int128 wait = accrual_.nanoseconds_for(level_);
  if (filled > accrual_.parts(capacity_) || wait > max_wait.count()) return {Refusal::not_now};
  if (accrual_.nanoseconds_for(filled) > Accrual::kLongestWait.count()) return {Refusal::not_now};
  level_ = filled;
  taken_ += n;
  return {Refusal::none, instant_at(nanoseconds_of(accrual_.latest()) + wait), n, taken_};
}

void LeakyBucket::cancel(Reservation& reservation, Instant now) {
  leak(now);
  if (!reservation || reservation.at < accrual_.latest()) return;
  if (reservation.taken == taken_) {
    level_ = std::max<Accrual::Parts>(0, level_ - accrual_.parts(reservation.units));
    taken_ -= reservation.units;
  }
  reservation.refusal = Refusal::cancelled;
}

std::int64_t LeakyBucket::level(Instant now) {
  leak(now);
  return accrual_.units_up(level_);
}

void LeakyBucket::set_rate(UnitRate rate, Instant now) {
  leak(now);
  // The time that the level takes stays, rounded up to a part.
  const Int128 old_units = accrual_.rate().units();
  const Int128 nanoseconds = level_ / old_units;
  const Int128 rest = level_ % old_units;
  accrual_.change(rate, 0);
  level_ = accrual_.in(nanoseconds) + rounded_up_quotient(accrual_.in(rest), old_units);
}

Instant LeakyBucket::as_new_at() const {
  return instant_at(nanoseconds_of(accrual_.latest()) + accrual_.nanoseconds_for(level_));
}

LeakyMeter::LeakyMeter(UnitRate rate, std::uint64_t capacity) : accrual_(rate), capacity_(capacity) {}

void LeakyMeter::leak(Instant now) {
  level_ = std::max<Accrual::Parts>(0, level_ - accrual_.advance(now));
}

Answer LeakyMeter::allow(std::uint64_t n, Instant now) {
  leak(now);
  if (level_ >= accrual_.parts(capacity_)) return Refusal::not_now;
  level_ += accrual_.parts(n);
  return {};
}

std::int64_t LeakyMeter::level(Instant now) {
  leak(now);
  return accrual_.units_up(level_);
}

void LeakyMeter::set_rate(UnitRate rate, Instant now) {
  leak(now);
  level_ = -accrual_.change(rate, -level_);  // rounded up
}

Instant LeakyMeter::as_new_at() const {
  return instant_at(nanoseconds_of(accrual_.latest()) + accrual_.nanoseconds_for(level_));
}

}  // namespace headgate
