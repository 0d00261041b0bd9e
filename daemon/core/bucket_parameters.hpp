// The rate and burst of a class as its flows' buckets (limiters/flow_bucket.hpp) take them, worked out once for all.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/cost.hpp"
#include "headgate/gcra.hpp"
#include "limiters/flow_bucket.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct BucketParameters {
  BucketParameters() = default;
  BucketParameters(const Rate& rate, const Burst& burst, const LinkLayer& link_layer = {});

  // Bytes on the link of so many packets of so many bytes; of several packets, as if all were of one size.
  std::uint64_t link_bytes(const Cost& cost) const;

  // What every packet reads lies in two lines of the cache.
  RateLimit packets;
  LinkLayer link_layer;
  RateLimit bits;
};

// What every packet goes through, to be inlined.
inline std::uint64_t BucketParameters::link_bytes(const Cost& cost) const {
  const auto overhead = static_cast<std::int64_t>(cost.packets) * link_layer.overhead;
  const std::int64_t bytes = static_cast<std::int64_t>(cost.bytes) + overhead;
  const std::uint64_t least = cost.packets * std::max(1u, link_layer.mpu);
  return std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)), least);
}

}  // namespace headgate
