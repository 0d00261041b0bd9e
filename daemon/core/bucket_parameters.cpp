#include "core/bucket_parameters.hpp"

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

}  // namespace headgate
