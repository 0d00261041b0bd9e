#include "top/delay_quantile.hpp"

#include <limits>
#include <numeric>

namespace headgate::top {

std::optional<double> delay_quantile(const std::vector<std::uint64_t>& packets,
                                     const std::vector<double>& bounds, double share, double finer) {
  const double wanted =
      share * static_cast<double>(std::accumulate(packets.begin(), packets.end(), std::uint64_t{0}));
  double below = 0;
  for (std::size_t i = 0; i < packets.size() && i <= bounds.size(); ++i) {
    const auto here = static_cast<double>(packets[i]);
    if (here > 0 && below + here >= wanted) {
      const bool last = i == bounds.size();
      const double least = i == 0 ? 0 : bounds[i - 1];
      const double most = last ? std::numeric_limits<double>::infinity() : bounds[i];
      if (finer > 0 && finer >= least && finer < most) return finer;
      return last ? least : least + (most - least) * (wanted - below) / here;
    }
    below += here;
  }
  return std::nullopt;
}

}  // namespace headgate::top
