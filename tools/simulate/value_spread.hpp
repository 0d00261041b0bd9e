// How often which durations came: delays, gaps. Log-linear, 16 steps to each doubling, so a percentile is at most 1/16 too
// high; the longest is exact. Memory is taken up to the longest that came.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"

namespace headgate {

class ValueSpread {
 public:
  void record(Duration value) {
    const auto nanoseconds = static_cast<std::uint64_t>(std::max(value, Duration::zero()).count());
    const std::size_t step = step_of(nanoseconds);
    if (step >= counts_.size()) counts_.resize(step + 1);
    ++counts_[step];
    longest_ = std::max(longest_, Duration(nanoseconds));
  }

  ValueSpread& operator+=(const ValueSpread& other);

  std::uint64_t count() const;
  Duration longest() const { return longest_; }
  // The least that so large a share does not exceed, 0 to 1; zero when there is none.
  Duration percentile(double share) const;

  // Steps in order: of a step all values from first_of(step) up to, and without, first_of(step + 1).
  const std::vector<std::uint32_t>& counts() const { return counts_; }
  static Duration first_of(std::size_t step);

 private:
  static constexpr unsigned kBits = 4;
  static constexpr std::uint64_t kSteps = 1 << kBits;  // to a doubling

  static std::size_t step_of(std::uint64_t value) {
    if (value < kSteps) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return (shift << kBits) + (value >> shift);
  }

  std::vector<std::uint32_t> counts_;
  Duration longest_{};
};

}  // namespace headgate
