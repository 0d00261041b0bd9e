// Delays of the last ten seconds, from which the median, the 99th percentile and the longest are read; and of all time, more
// coarsely.
//
// Ten slices of a second each, the present one included; a slice counts delays in log-linear buckets: 16 to
// each doubling, so a percentile is reported at most 1/16 too high, and below 16 µs at most 1 µs. The longest
// delay is exact. Delays above 2^38 µs (three days) count as that long in the percentiles. 22 KB, allocated
// by the constructor. A slice goes into the totals when its place is needed, so a packet is counted once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"
#include "vocabulary/delay_totals.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

// What one histogram holds at some instant, or several added up.
class DelayCounts {
 public:
  DelayCounts& operator+=(const DelayCounts& other);
  DelaySummary summary() const;

 private:
  friend class DelayHistogram;

  static constexpr unsigned kSubBits = 4;
  static constexpr unsigned kSubBuckets = 1u << kSubBits;
  static constexpr unsigned kMaxBits = 38;  // of a delay in microseconds
  static constexpr unsigned kBuckets = (kMaxBits - kSubBits + 1) * kSubBuckets;

  static unsigned bucket_of(Duration delay);
  static Duration upper_bound(unsigned bucket);

  std::array<std::uint64_t, kBuckets> counts_{};
  Duration max_{};
};

class DelayHistogram {
  static constexpr std::int64_t kSlices = 10;

 public:
  // The delays of one second.
  class Slice {
   public:
    void record(Duration delay, std::uint64_t packets) {
      delay = std::max(delay, Duration::zero());
      max_ = std::max(max_, delay);
      nanoseconds_ += static_cast<std::uint64_t>(delay.count()) * packets;
      counts_[DelayCounts::bucket_of(delay)] += static_cast<std::uint32_t>(packets);
    }

   private:
    friend class DelayHistogram;
    void add_to(DelayTotals& totals) const;

    std::int64_t second_ = -1;  // which second of the clock it holds
    Duration max_{};
    std::uint64_t nanoseconds_ = 0;
    std::array<std::uint32_t, DelayCounts::kBuckets> counts_{};
  };

  DelayHistogram();

  // Where delays that end now are to be recorded. `now` must not go backwards.
  Slice& slice(Instant now);

  // Fetches ahead what recording such a delay will touch.
  void prefetch(Duration delay, Instant now) const;

  void record(Duration delay, std::uint64_t packets, Instant now) { slice(now).record(delay, packets); }
  DelayCounts counts(Instant now) const;
  DelaySummary summary(Instant now) const { return counts(now).summary(); }
  DelayTotals totals() const;

 private:
  std::vector<Slice> slices_;
  DelayTotals ended_;  // of slices whose place another one has taken
};

}  // namespace headgate
