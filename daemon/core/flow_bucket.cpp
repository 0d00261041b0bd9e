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

void FlowBucket::change(const BucketParameters& parameters) {
  // Fractions of the old rate mean nothing at the new one.
  const std::int64_t packets_next = rounded_up({packets_next_, packets_remainder_});
  const std::int64_t bits_next = rounded_up({bits_next_, bits_remainder_});
  const std::int64_t latest = std::max(packets_next, bits_next);
  // A limit that is new takes over where the other one stood.
  packets_next_ = !parameters.packets.set() ? kLongAgo : packets_next == kLongAgo ? latest : packets_next;
  bits_next_ = !parameters.bits.set() ? kLongAgo : bits_next == kLongAgo ? latest : bits_next;
  packets_remainder_ = 0;
  bits_remainder_ = 0;
}

}  // namespace headgate
