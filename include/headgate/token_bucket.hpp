// A token bucket, the meter: may it pass now? Tokens come at a rate, up to the burst; what passes takes its tokens.
//
// In any time T at most burst + rate × T units pass. What allow() says is what the generic cell rate algorithm of ITU-T I.371
// says (gcra.hpp). A new bucket is full. Other buckets that go by a similar name: LeakyMeter admits while its level is below
// the capacity, IntervalBucket gets its tokens by the portion.
//
// A reservation takes tokens that are still to come, and may be used at its instant; so waiting callers are served in order
// and no wait is repeated. Its instant is rounded up to the nanosecond, which does not enter the count.
//
// A request for more than the burst is refused as too_many at once: no waiting would help. Burst 0 refuses all.
// Not thread-safe (shared.hpp is). Each call takes constant time, no memory. Errors: only a UnitRate throws.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/accrual.hpp"
#include "headgate/answer.hpp"

namespace headgate {

class TokenBucket {
 public:
  TokenBucket(UnitRate rate, std::uint64_t burst);

  // May n units pass now? All of them or none.
  Answer allow(std::uint64_t n, Instant now);

  // When may n units pass? Refused, with nothing taken, if that is more than `max_wait` from now.
  Reservation reserve(std::uint64_t n, Instant now, Duration max_wait = Accrual::kLongestWait);

  // Gives back what a reservation took, unless its instant is past. Of what was taken after it the instants stand, so as much
  // less comes back: all, if nothing was taken after it. Never so much that more would pass than the law allows.
  void cancel(Reservation& reservation, Instant now);

  // How long until n units may pass, if nobody else comes; nothing: never, n is above the burst.
  std::optional<Duration> wait(std::uint64_t n, Instant now);

  // Whole tokens at hand; below zero while reservations wait.
  std::int64_t tokens(Instant now);

  // From now on. Tokens at hand stay, up to a smaller burst. Instants that are promised stand, and are paid for.
  void set_rate(UnitRate rate, Instant now);
  void set_burst(std::uint64_t burst, Instant now);

  UnitRate rate() const { return accrual_.rate(); }
  std::uint64_t burst() const { return burst_; }

  // From when on a new bucket in place of this one would say the same to every request, if none comes before.
  Instant as_new_at() const;

 private:
  using Parts = Accrual::Parts;

  void refill(Instant now);
  Parts at_hand() const;
  void take(Parts left, std::uint64_t n);

  Accrual accrual_;
  std::uint64_t burst_;
  Parts tokens_;
  std::uint64_t taken_ = 0;            // units, since the beginning
  Instant promised_ = Instant::min();  // the latest instant of a reservation
  // The rate has changed since that instant was promised: at it no token is at hand, whatever the new rate would bring.
  bool promised_at_other_rate_ = false;
};

}  // namespace headgate
