// A bucket whose tokens come by the portion: 5 at the end of each period, none in between, up to the capacity.
//
// In any time that holds k ends of periods at most capacity + k × portion units pass. A new bucket is full; periods begin at
// `start`. Where tokens are to come evenly take a TokenBucket.
//
// Not thread-safe (shared.hpp is). Each call takes constant time, no memory. A clock that goes back stands still. Errors: the
// constructor throws std::invalid_argument for a period below 1 ns, a portion of 0 or a capacity above
// 10^18.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/answer.hpp"
#include "headgate/wide.hpp"

namespace headgate {

class IntervalBucket {
 public:
  IntervalBucket(std::uint64_t portion, Duration period, std::uint64_t capacity, Instant start = Instant{});

  // May n units pass now? All of them or none. More than the capacity: too_many.
  Answer allow(std::uint64_t n, Instant now);

  // How long until n units may pass, if nobody else comes; nothing: never, n is above the capacity.
  std::optional<Duration> wait(std::uint64_t n, Instant now);

  std::uint64_t tokens(Instant now);

  // From when on a new one in place of this would say the same to every request, if none comes before.
  Instant as_new_at() const { return filled_at(capacity_); }

 private:
  void refill(Instant now);
  Instant filled_at(std::uint64_t n) const;

  std::uint64_t portion_;
  Duration period_;
  std::uint64_t capacity_;
  std::uint64_t tokens_;
  Instant latest_ = Instant::min();
  Int128 begin_;  // of the period, in nanoseconds
};

}  // namespace headgate
