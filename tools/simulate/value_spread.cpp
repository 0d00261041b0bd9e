#include "value_spread.hpp"

#include <cmath>
#include <numeric>

namespace headgate {

ValueSpread& ValueSpread::operator+=(const ValueSpread& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  longest_ = std::max(longest_, other.longest_);
  return *this;
}

std::uint64_t ValueSpread::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

Duration ValueSpread::first_of(std::size_t step) {
  if (step < kSteps) return Duration(step);
  const std::size_t shift = (step >> kBits) - 1;
  return Duration((step - (shift << kBits)) << shift);
}

Duration ValueSpread::percentile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count())));
  std::uint64_t so_far = 0;
  for (std::size_t step = 0; step < counts_.size(); ++step) {
    so_far += counts_[step];
    if (so_far >= wanted && so_far > 0) return std::min(first_of(step + 1) - Duration(1), longest_);
  }
  return longest_;
}

}  // namespace headgate
