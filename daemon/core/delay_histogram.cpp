#include "core/delay_histogram.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "limiters/prefetch.hpp"

namespace headgate {
namespace {

std::int64_t second_of(Instant instant) {
  return std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch()).count();
}

}  // namespace

DelayHistogram::DelayHistogram() : slices_(kSlices) {}

DelayHistogram::Slice& DelayHistogram::slice(Instant now) {
  const std::int64_t second = second_of(now);
  Slice& slice = slices_[static_cast<std::size_t>(second % kSlices)];
  if (slice.second_ != second) {
    slice.add_to(ended_);
    slice = {};
    slice.second_ = second;
  }
  return slice;
}

void DelayHistogram::prefetch(Duration delay, Instant now) const {
  const Slice& slice = slices_[static_cast<std::size_t>(second_of(now) % kSlices)];
  prefetch_line(&slice);
  prefetch_line(&slice.counts_[DelayCounts::bucket_of(std::max(delay, Duration::zero()))]);
}

DelayCounts DelayHistogram::counts(Instant now) const {
  const std::int64_t second = second_of(now);
  DelayCounts sum;
  for (const Slice& slice : slices_) {
    if (slice.second_ < 0 || slice.second_ + kSlices <= second) continue;
    sum.max_ = std::max(sum.max_, slice.max_);
    for (unsigned i = 0; i < DelayCounts::kBuckets; ++i) sum.counts_[i] += slice.counts_[i];
  }
  return sum;
}

// The buckets end where the totals' intervals do.
void DelayHistogram::Slice::add_to(DelayTotals& totals) const {
  for (unsigned i = 0; i < DelayCounts::kBuckets; ++i) {
    const std::size_t doubling = i < 2 * DelayCounts::kSubBuckets ? 0 : (i >> DelayCounts::kSubBits) - 1;
    totals.packets[std::min(doubling, DelayTotals::kBounds)] += counts_[i];
  }
  totals.microseconds += nanoseconds_ / 1000;
}

DelayTotals DelayHistogram::totals() const {
  DelayTotals totals = ended_;
  for (const Slice& slice : slices_) slice.add_to(totals);
  return totals;
}

DelayCounts& DelayCounts::operator+=(const DelayCounts& other) {
  for (unsigned i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  max_ = std::max(max_, other.max_);
  return *this;
}

DelaySummary DelayCounts::summary() const {
  DelaySummary summary;
  summary.max = max_;
  const std::uint64_t total = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  if (total == 0) return summary;
  // The delay that `percent` of the packets do not exceed.
  const auto percentile = [&](std::uint64_t percent) {
    std::uint64_t needed = (total * percent + 99) / 100;
    unsigned bucket = 0;
    while (counts_[bucket] < needed) needed -= counts_[bucket++];
    return std::min(upper_bound(bucket), max_);
  };
  summary.p50 = percentile(50);
  summary.p99 = percentile(99);
  return summary;
}

unsigned DelayCounts::bucket_of(Duration delay) {
  constexpr std::uint64_t kLongest = (std::uint64_t{1} << kMaxBits) - 1;
  const auto microseconds =
      std::min(kLongest, static_cast<std::uint64_t>(delay / std::chrono::microseconds(1)));
  // The highest bit says which doubling, the four bits behind it which sixteenth of it; below two times 16 each
  // microsecond has its own. No branch: it could not be foretold.
  const unsigned doubling = static_cast<unsigned>(std::bit_width(microseconds | kSubBuckets)) - 1 - kSubBits;
  return (doubling << kSubBits) + static_cast<unsigned>(microseconds >> doubling);
}

Duration DelayCounts::upper_bound(unsigned bucket) {
  const unsigned doubling = bucket < kSubBuckets ? 0 : (bucket >> kSubBits) - 1;
  const std::uint64_t first = bucket - (doubling << kSubBits);
  return std::chrono::microseconds(static_cast<std::int64_t>((first + 1) << doubling));
}

}  // namespace headgate
