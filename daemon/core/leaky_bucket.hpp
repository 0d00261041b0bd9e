// One flow's leaky bucket as arithmetic: when its next packet may leave.
//
// The bucket keeps, for each of its two limits, the time `next` at which a packet may leave without using any
// burst. By the generic cell rate algorithm (ITU-T I.371, virtual scheduling) a packet that arrives at `a`
//
//     may leave at    d = max(a, next - tolerance)      and then    next = max(d, next) + cost
//
// where cost = size / rate. With two limits a packet leaves at the later of the two d, which then counts for
// both. The tolerance is what the burst has left beside the packet itself, (burst - size) / rate or 0, so
// that after idle exactly a burst leaves at once, and with the default burst of one packet nothing ever does.
//
// Exact: `next` is a whole number of nanoseconds and a numerator over the rate, so no rate drifts, however
// long it runs. Only departures are rounded, up to the next whole nanosecond; the rounding does not enter
// `next`.
//
// Limits: rates up to those of units.hpp; a tolerance of more than 73 years counts as 73 years. Instants must
// lie within 73 years of the clock's zero.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/config.hpp"
#include "headgate/cost.hpp"

namespace headgate {

// nanoseconds + remainder / rate, where 0 <= remainder < rate; the rate is the one of the limit it belongs
// to.
struct ExactTime {
  std::int64_t nanoseconds = 0;
  std::uint64_t remainder = 0;
};

inline std::int64_t rounded_up(const ExactTime& time) {
  return time.nanoseconds + (time.remainder != 0 ? 1 : 0);
}

// One rate with its burst. A unit is a packet or a byte.
class RateLimit {
 public:
  RateLimit() = default;  // no limit
  RateLimit(std::uint64_t rate, std::uint64_t numerator, std::uint64_t burst_units);

  bool set() const { return rate_ != 0; }

  // The time in which `units` leave.
  ExactTime time_of(std::uint64_t units) const;
  // When `units` may leave at the earliest, rounded up.
  std::int64_t earliest(const ExactTime& next, std::uint64_t units) const;
  // `next` after `units` have left at `departure`.
  ExactTime after(const ExactTime& next, std::int64_t departure, std::uint64_t units) const;

 private:
  // So many units times 8·10^9 fit 64 bits.
  static constexpr std::uint64_t kFewUnits = std::uint64_t{1} << 30;

  ExactTime long_time_of(std::uint64_t units) const;

  std::uint64_t rate_ = 0;       // units of the configuration a second: packets, bits
  std::uint64_t numerator_ = 0;  // a unit takes numerator / rate nanoseconds
  std::uint64_t burst_units_ = 0;
  ExactTime burst_;  // time of the burst
  ExactTime unit_;   // time of one unit
};

// The rate and burst of a class, worked out once for all its buckets.
struct BucketParameters {
  BucketParameters() = default;
  BucketParameters(const Rate& rate, const Burst& burst, const LinkLayer& link_layer = {});

  // Bytes on the link of so many packets of so many bytes; of several packets, as if all were of one size.
  std::uint64_t link_bytes(const Cost& cost) const;

  RateLimit packets;
  RateLimit bits;
  LinkLayer link_layer;
};

// 28 bytes of state; the parameters come with every call. A new bucket has its whole burst at hand.
class LeakyBucket {
 public:
  // When a packet that is there from `from` on may leave.
  Instant earliest(const BucketParameters& parameters, const Cost& cost, Instant from) const;

  // The packet leaves at `departure`: when earliest() says, or later.
  void commit(const BucketParameters& parameters, const Cost& cost, Instant departure);

  // Whether a new bucket in place of this one would treat every packet from `now` on alike.
  bool as_new(Instant now) const;

  // Goes over to other parameters: what has left so far stays paid for at the old rate.
  void change(const BucketParameters& parameters);

 private:
  static constexpr std::int64_t kLongAgo = -(std::int64_t{1} << 62);

  std::int64_t packets_next_ = kLongAgo;
  std::int64_t bits_next_ = kLongAgo;
  std::uint64_t bits_remainder_ = 0;
  std::uint32_t packets_remainder_ = 0;  // a packet rate is at most 10^9
};

// What every packet goes through, to be inlined.

inline ExactTime RateLimit::time_of(std::uint64_t units) const {
  if (units == 1) return unit_;
  if (units >= kFewUnits) return long_time_of(units);
  const std::uint64_t product = units * numerator_;
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

inline std::uint64_t BucketParameters::link_bytes(const Cost& cost) const {
  const auto overhead = static_cast<std::int64_t>(cost.packets) * link_layer.overhead;
  const std::int64_t bytes = static_cast<std::int64_t>(cost.bytes) + overhead;
  const std::uint64_t least = cost.packets * std::max(1u, link_layer.mpu);
  return std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)), least);
}

inline Instant LeakyBucket::earliest(const BucketParameters& parameters, const Cost& cost,
                                     Instant from) const {
  std::int64_t departure = from.time_since_epoch().count();
  if (parameters.packets.set()) {
    departure =
        std::max(departure, parameters.packets.earliest({packets_next_, packets_remainder_}, cost.packets));
  }
  if (parameters.bits.set()) {
    departure = std::max(
        departure, parameters.bits.earliest({bits_next_, bits_remainder_}, parameters.link_bytes(cost)));
  }
  return Instant{Duration{departure}};
}

inline void LeakyBucket::commit(const BucketParameters& parameters, const Cost& cost, Instant departure) {
  if (parameters.packets.set()) {
    const ExactTime next = parameters.packets.after({packets_next_, packets_remainder_},
                                                    departure.time_since_epoch().count(), cost.packets);
    packets_next_ = next.nanoseconds;
    packets_remainder_ = static_cast<std::uint32_t>(next.remainder);
  }
  if (parameters.bits.set()) {
    const ExactTime next = parameters.bits.after(
        {bits_next_, bits_remainder_}, departure.time_since_epoch().count(), parameters.link_bytes(cost));
    bits_next_ = next.nanoseconds;
    bits_remainder_ = next.remainder;
  }
}

}  // namespace headgate
