// Two leaky buckets. Units are poured in and leak out at a rate.
//
// LeakyBucket is a queue: when may it leave? What is poured in leaves evenly spaced, never a burst, each when all before it
// has leaked. It is refused when the bucket would run over.
//
// LeakyMeter is a meter: may it pass now? It admits while its level is below the capacity, whatever is poured. So it runs
// over by less than one request: where a TokenBucket of the same size has room for a part of a unit only and refuses, this
// one admits. Many web servers and scripts count so.
//
// A level is exact, so no rate drifts. A clock that goes back stands still. Not thread-safe (shared.hpp is). Each call takes
// constant time, no memory. Errors: only a UnitRate throws.
#pragma once

#include <cstdint>

#include "headgate/accrual.hpp"
#include "headgate/answer.hpp"

namespace headgate {

class LeakyBucket {
 public:
  // `capacity` is the most units that are in the bucket at a time, what is leaking included.
  LeakyBucket(UnitRate rate, std::uint64_t capacity);

  // Pours in n units if they leave at once.
  Answer allow(std::uint64_t n, Instant now) {
    const Reservation made = reserve(n, now, Duration::zero());
    return made.refusal;
  }

  // Pours in n units, to leave at the reservation's instant. Refused, with nothing poured: as too_many if n is above the
  // capacity, as not_now if there is no room now or they would wait longer than `max_wait`.
  Reservation reserve(std::uint64_t n, Instant now, Duration max_wait = Accrual::kLongestWait);

  // Takes out what was poured last, unless its instant is past. Of anything before, the place in the order is kept free.
  void cancel(Reservation& reservation, Instant now);

  // Units in the bucket, rounded up.
  std::int64_t level(Instant now);

  // From now on. What is in the bucket leaves as promised; it counts as the units that the new rate leaks until then.
  void set_rate(UnitRate rate, Instant now);
  void set_capacity(std::uint64_t capacity) { capacity_ = capacity; }

  UnitRate rate() const { return accrual_.rate(); }
  std::uint64_t capacity() const { return capacity_; }

  // From when on a new bucket in place of this one would say the same to every request, if none comes before.
  Instant as_new_at() const;

 private:
  void leak(Instant now);

  Accrual accrual_;
  std::uint64_t capacity_;
  Accrual::Parts level_ = 0;
  std::uint64_t taken_ = 0;  // units, since the beginning
};

class LeakyMeter {
 public:
  LeakyMeter(UnitRate rate, std::uint64_t capacity);

  // In any time T less than capacity + rate × T + n units pass, n the last request. Capacity 0 refuses all.
  Answer allow(std::uint64_t n, Instant now);

  // Rounded up.
  std::int64_t level(Instant now);

  // From now on; the level stays.
  void set_rate(UnitRate rate, Instant now);
  void set_capacity(std::uint64_t capacity) { capacity_ = capacity; }

  UnitRate rate() const { return accrual_.rate(); }
  std::uint64_t capacity() const { return capacity_; }
  Instant as_new_at() const;

 private:
  void leak(Instant now);

  Accrual accrual_;
  std::uint64_t capacity_;
  Accrual::Parts level_ = 0;
};

}  // namespace headgate
