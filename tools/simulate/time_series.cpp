#include "time_series.hpp"

namespace headgate {

SeriesBin& SeriesBin::operator+=(const SeriesBin& other) {
  offered += other.offered;
  sent += other.sent;
  dropped += other.dropped;
  delay += other.delay;
  longest_delay = std::max(longest_delay, other.longest_delay);
  return *this;
}

void TimeSeries::find(Instant at) {
  while (at - start_ >= width_ * static_cast<std::int64_t>(kMostBins)) halve();
  found_ = static_cast<std::size_t>((at - start_) / width_);
  from_ = start_ + width_ * static_cast<std::int64_t>(found_);
  to_ = from_ + width_;
}

void TimeSeries::halve() {
  for (std::vector<SeriesBin>& bins : bins_) {
    for (std::size_t i = 0; i < kMostBins / 2; ++i) {
      bins[i] = bins[2 * i];
      bins[i] += bins[2 * i + 1];
    }
    std::fill(bins.begin() + kMostBins / 2, bins.end(), SeriesBin{});
  }
  width_ *= 2;
}

std::vector<SeriesBin> TimeSeries::bins(std::size_t class_number, Instant end) const {
  const auto used = static_cast<std::size_t>(std::max(end - start_, Duration::zero()) / width_) + 1;
  const std::vector<SeriesBin>& bins = bins_[class_number];
  return {bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(std::min(used, kMostBins))};
}

}  // namespace headgate
