// One flow's leaky bucket as arithmetic: when its next packet may leave.
//
// The bucket keeps, for each of its two limits, the state of the generic cell rate algorithm (headgate/gcra.hpp): exact, and
// with the default burst of one packet nothing ever leaves at once. With two limits a packet leaves at the later of the two
// times, which then counts for both.
//
// Parameters come with every call, so that all buckets of a class share them. They have two limits, `packets` and `bits`, and
// say how many bytes count: link_bytes(cost).
//
// Limits: rates up to those of units.hpp; a tolerance of more than 73 years counts as 73 years. Instants must
// lie within 73 years of the clock's zero.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "headgate/gcra.hpp"

namespace headgate {

// 28 bytes of state. A new bucket has its whole burst at hand.
class FlowBucket {
 public:
  // When a packet that is there from `from` on may leave.
  template <typename Parameters>
  Instant earliest(const Parameters& parameters, const Cost& cost, Instant from) const {
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

  // The packet leaves at `departure`: when earliest() says, or later.
  template <typename Parameters>
  void commit(const Parameters& parameters, const Cost& cost, Instant departure) {
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

  // From when on a new bucket in place of this one would treat every packet alike.
  Instant as_new_at() const {
    return Instant{Duration{std::max(rounded_up({packets_next_, packets_remainder_}),  //
                                     rounded_up({bits_next_, bits_remainder_}))}};
  }
  bool as_new(Instant now) const { return as_new_at() <= now; }

  // Goes over to other parameters at `now`. The next packet waits no longer than it would have, and less where the new rate
  // is higher; a burst that is smaller takes credit away, but makes no debt of it.
  template <typename Parameters>
  void change(const Parameters& before, const Parameters& after, Instant now) {
    const ExactTime packets{packets_next_, packets_remainder_};
    const ExactTime bits{bits_next_, bits_remainder_};
    const std::int64_t latest = std::max(opens(before.packets, packets), opens(before.bits, bits));
    const std::int64_t at = now.time_since_epoch().count();
    packets_next_ = gone_over(before.packets, after.packets, packets, latest, at);
    bits_next_ = gone_over(before.bits, after.bits, bits, latest, at);
    // Fractions of the old rate mean nothing at the new one.
    packets_remainder_ = 0;
    bits_remainder_ = 0;
  }

  // The same for a rate that changes all the time, as one that is leased does: what was used of the burst stays used, so that
  // no change gives anything back.
  template <typename Parameters>
  void change_rate(const Parameters& before, const Parameters& after, Instant now) {
    const std::int64_t at = now.time_since_epoch().count();
    packets_next_ = as_far_ahead(before.packets, after.packets, {packets_next_, packets_remainder_}, at);
    bits_next_ = as_far_ahead(before.bits, after.bits, {bits_next_, bits_remainder_}, at);
    packets_remainder_ = 0;
    bits_remainder_ = 0;
  }

 private:
  static constexpr std::int64_t kLongAgo = -(std::int64_t{1} << 62);

  static std::int64_t opens(const RateLimit& limit, const ExactTime& next) {
    return limit.set() ? limit.earliest(next, 1) : kLongAgo;
  }

  // A limit that is new takes over where the other one stood, which was to open at `latest`.
  static std::int64_t gone_over(const RateLimit& before, const RateLimit& after, const ExactTime& next,
                                std::int64_t latest, std::int64_t now) {
    if (!after.set() || latest <= kLongAgo) return kLongAgo;
    const std::int64_t tolerance = -after.earliest({}, 1);
    if (!before.set()) return latest + tolerance;
    const std::int64_t at = opens(before, next);
    const std::int64_t wait = at - now;
    return std::min(rounded_up(next), (wait > 0 ? now + after.shortened(wait, before) : at) + tolerance);
  }

  static std::int64_t as_far_ahead(const RateLimit& before, const RateLimit& after, const ExactTime& next,
                                   std::int64_t now) {
    const std::int64_t ahead = rounded_up(next) - now;
    if (!before.set() || !after.set() || rounded_up(next) <= now) return rounded_up(next);
    return now + after.converted(ahead, before);
  }

  std::int64_t packets_next_ = kLongAgo;
  std::int64_t bits_next_ = kLongAgo;
  std::uint64_t bits_remainder_ = 0;
  std::uint32_t packets_remainder_ = 0;  // a packet rate is at most 10^9
};

}  // namespace headgate
