// One flow's leaky bucket as arithmetic: when its next packet may leave.
//
// The bucket keeps, for each of its two limits, the state of the generic cell rate algorithm (headgate/gcra.hpp): exact, and
// with the default burst of one packet nothing ever leaves at once. With two limits a packet leaves at the later of the two
// times, which then counts for both.
//
// Limits: rates up to those of units.hpp; a tolerance of more than 73 years counts as 73 years. Instants must
// lie within 73 years of the clock's zero.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "headgate/gcra.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

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
class FlowBucket {
 public:
  // When a packet that is there from `from` on may leave.
  Instant earliest(const BucketParameters& parameters, const Cost& cost, Instant from) const;

  // The packet leaves at `departure`: when earliest() says, or later.
  void commit(const BucketParameters& parameters, const Cost& cost, Instant departure);

  // Whether a new bucket in place of this one would treat every packet from `now` on alike.
  bool as_new(Instant now) const;

  // Goes over to other parameters at `now`. The next packet waits no longer than it would have, and less where the new rate
  // is higher; a burst that is smaller takes credit away, but makes no debt of it.
  void change(const BucketParameters& before, const BucketParameters& after, Instant now);

 private:
  static constexpr std::int64_t kLongAgo = -(std::int64_t{1} << 62);

  static std::int64_t gone_over(const RateLimit& before, const RateLimit& after, const ExactTime& next,
                                std::int64_t latest, std::int64_t now);

  std::int64_t packets_next_ = kLongAgo;
  std::int64_t bits_next_ = kLongAgo;
  std::uint64_t bits_remainder_ = 0;
  std::uint32_t packets_remainder_ = 0;  // a packet rate is at most 10^9
};

// What every packet goes through, to be inlined.

inline std::uint64_t BucketParameters::link_bytes(const Cost& cost) const {
  const auto overhead = static_cast<std::int64_t>(cost.packets) * link_layer.overhead;
  const std::int64_t bytes = static_cast<std::int64_t>(cost.bytes) + overhead;
  const std::uint64_t least = cost.packets * std::max(1u, link_layer.mpu);
  return std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)), least);
}

inline Instant FlowBucket::earliest(const BucketParameters& parameters, const Cost& cost,
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

inline void FlowBucket::commit(const BucketParameters& parameters, const Cost& cost, Instant departure) {
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
