#include "core/flow_bucket.hpp"

#include <algorithm>

namespace headgate {

BucketParameters::BucketParameters(const Rate& rate, const Burst& burst, const LinkLayer& link)
    : link_layer(link) {
  if (rate.packets) {
    packets = RateLimit(*rate.packets, burst.packets.value_or(1));
  }
  if (rate.bits) {
    bits = RateLimit(*rate.bits, burst.bytes.value_or(DataSize{}).bytes);
  }
}

bool FlowBucket::as_new(Instant now) const {
  return rounded_up({packets_next_, packets_remainder_}) <= now.time_since_epoch().count() &&
         rounded_up({bits_next_, bits_remainder_}) <= now.time_since_epoch().count();
}

void FlowBucket::change(const BucketParameters& before, const BucketParameters& after, Instant now) {
  const ExactTime packets{packets_next_, packets_remainder_};
  const ExactTime bits{bits_next_, bits_remainder_};
  const auto opens = [](const RateLimit& limit, const ExactTime& next) {
    return limit.set() ? limit.earliest(next, 1) : kLongAgo;
  };
  const std::int64_t latest = std::max(opens(before.packets, packets), opens(before.bits, bits));
  const std::int64_t at = now.time_since_epoch().count();
  packets_next_ = gone_over(before.packets, after.packets, packets, latest, at);
  bits_next_ = gone_over(before.bits, after.bits, bits, latest, at);
  // Fractions of the old rate mean nothing at the new one.
  packets_remainder_ = 0;
  bits_remainder_ = 0;
}

// A limit that is new takes over where the other one stood, which was to open at `latest`.
std::int64_t FlowBucket::gone_over(const RateLimit& before, const RateLimit& after, const ExactTime& next,
                                   std::int64_t latest, std::int64_t now) {
  if (!after.set() || latest <= kLongAgo) return kLongAgo;
  const std::int64_t tolerance = -after.earliest({}, 1);
  if (!before.set()) return latest + tolerance;
  const std::int64_t opens = before.earliest(next, 1);
  const std::int64_t wait = opens - now;
  return std::min(rounded_up(next), (wait > 0 ? now + after.shortened(wait, before) : opens) + tolerance);
}

}  // namespace headgate
