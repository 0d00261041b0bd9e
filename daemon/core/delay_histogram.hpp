// Delays of the last ten seconds, from which the median, the 99th percentile and the longest are read.
//
// Ten slices of a second each, the present one included; a slice counts delays in log-linear buckets: 16 to
// each doubling, so a percentile is reported at most 1/16 too high, and below 16 µs at most 1 µs. The longest
// delay is exact. Delays above 2^38 µs (three days) count as that long in the percentiles. 22 KB, allocated
// by the constructor.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/statistics.hpp"

namespace headgate {

class DelayHistogram {
 public:
  DelayHistogram();

  // `now` must not go backwards.
  void record(Duration delay, std::uint64_t packets, Instant now);
  DelaySummary summary(Instant now) const;

 private:
  static constexpr unsigned kSubBits = 4;
  static constexpr unsigned kSubBuckets = 1u << kSubBits;
  static constexpr unsigned kMaxBits = 38;  // of a delay in microseconds
  static constexpr unsigned kBuckets = (kMaxBits - kSubBits + 1) * kSubBuckets;
  static constexpr std::int64_t kSlices = 10;

  struct Slice {
    std::int64_t second = -1;  // which second of the clock it holds
    Duration max{};
    std::array<std::uint32_t, kBuckets> counts{};
  };

  static unsigned bucket_of(Duration delay);
  static Duration upper_bound(unsigned bucket);

  std::vector<Slice> slices_;
};

}  // namespace headgate
