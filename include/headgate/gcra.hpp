// The generic cell rate algorithm (ITU-T I.371, virtual scheduling): when may it leave at the earliest?
//
// A limit keeps the time `next` at which a unit may leave without using any burst. What arrives at `a` with `n` units
//
//     may leave at    d = max(a, next - tolerance)      and then    next = max(d, next) + n / rate
//
// The tolerance is what the burst has left beside the request itself, (burst - n) / rate or 0, so that after idle exactly a
// burst leaves at once, and with a burst of one unit nothing ever does. A request above the burst is spaced like any other:
// it leaves at `next`.
//
// Exact: `next` is a whole number of nanoseconds and a numerator over the rate, so no rate drifts, however long it runs. Only
// departures are rounded, up to the next whole nanosecond; the rounding does not enter `next`.
//
// earliest() asks and changes nothing, commit() charges, so several limits can be asked before one is charged. Neither
// remembers `now`: a caller whose clock may go back and who wants it to stand still takes a TokenBucket. Not thread-safe. Each
// call takes constant time, no memory. Errors: only a UnitRate throws.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/units.hpp"

namespace headgate {

// nanoseconds + remainder / units, where 0 <= remainder < units, those of the limit's rate.
struct ExactTime {
  std::int64_t nanoseconds = 0;
  std::uint64_t remainder = 0;
};

inline std::int64_t rounded_up(const ExactTime& time) {
  return time.nanoseconds + (time.remainder != 0 ? 1 : 0);
}

// One rate with its burst as arithmetic; the state is the caller's, so that a million buckets share one limit.
// Limits: instants within 146 years of the clock's zero; a burst of more than 73 years counts as 73 years.
class RateLimit {
 public:
  RateLimit() = default;  // no limit
  RateLimit(UnitRate rate, std::uint64_t burst);

  bool set() const { return rate_ != 0; }

  // How long by this limit those units take that take `wait` by `other`, rounded up; at most 73 years.
  std::int64_t converted(std::int64_t wait, const RateLimit& other) const;
  // What is left of a wait by `other` if it goes on by this limit: shorter where this rate is higher, else as long.
  std::int64_t shortened(std::int64_t wait, const RateLimit& other) const {
    return std::min(wait, converted(wait, other));
  }

  // The time in which `units` leave.
  ExactTime time_of(std::uint64_t units) const;
  // When `units` may leave at the earliest, rounded up.
  std::int64_t earliest(const ExactTime& next, std::uint64_t units) const;
  // `next` after `units` have left at `departure`.
  ExactTime after(const ExactTime& next, std::int64_t departure, std::uint64_t units) const;

 private:
  ExactTime long_time_of(std::uint64_t units) const;

  std::uint64_t rate_ = 0;    // units in a period
  std::uint64_t period_ = 0;  // nanoseconds
  std::uint64_t few_ = 0;     // of fewer units the times are computed in 64 bits
  std::uint64_t burst_units_ = 0;
  ExactTime burst_;  // time of the burst
  ExactTime unit_;   // time of one unit
};

// A limit with its state. A new one has its whole burst at hand.
class Gcra {
 public:
  Gcra(UnitRate rate, std::uint64_t burst) : limit_(rate, burst) {}

  // When n units that are there from `now` on may leave. What would be later than kEnd is kEnd: never.
  Instant earliest(std::uint64_t n, Instant now) const;

  // n units leave at `at`: when earliest() says, or later.
  void commit(std::uint64_t n, Instant at);

  // From when on a new one in place of this would say the same to every request, if none comes before.
  Instant as_new_at() const { return Instant{Duration{rounded_up(next_)}}; }

  // Instants outside ±146 years of the clock's zero count as these ends.
  static constexpr Instant kEnd{Duration{std::int64_t{1} << 62}};

 private:
  RateLimit limit_;
  ExactTime next_{-kEnd.time_since_epoch().count(), 0};
};

// What every packet goes through, to be inlined.

inline ExactTime RateLimit::time_of(std::uint64_t units) const {
  if (units == 1) return unit_;
  if (units >= few_) return long_time_of(units);
  const std::uint64_t product = units * period_;
  return {static_cast<std::int64_t>(product / rate_), product % rate_};
}

inline std::int64_t RateLimit::earliest(const ExactTime& next, std::uint64_t units) const {
  if (units >= burst_units_) return rounded_up(next);
  const ExactTime own = time_of(units);
  // next - (burst - own) in whole nanoseconds and two fractions: next + own in (0, 2), less burst in [0, 1).
  const std::int64_t whole = next.nanoseconds - burst_.nanoseconds + own.nanoseconds;
  const std::uint64_t gained = next.remainder + own.remainder;
  if (gained <= burst_.remainder) return whole;
  return whole + (gained - burst_.remainder <= rate_ ? 1 : 2);
}

inline ExactTime RateLimit::after(const ExactTime& next, std::int64_t departure, std::uint64_t units) const {
  // A departure at `next` rounded up is one at `next`: else each rounding would push the schedule.
  const ExactTime from = departure > rounded_up(next) ? ExactTime{departure, 0} : next;
  const ExactTime own = time_of(units);
  ExactTime sum{from.nanoseconds + own.nanoseconds, from.remainder + own.remainder};
  if (sum.remainder >= rate_) {
    sum.remainder -= rate_;
    ++sum.nanoseconds;
  }
  return sum;
}

}  // namespace headgate
