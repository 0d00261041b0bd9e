#include "budget/demand_meter.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace headgate {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Duration kShortestLook = std::chrono::milliseconds(40);
constexpr Seconds kDrainTime{0.5};
constexpr Seconds kFall{0.05};
constexpr double kAdded = 1.02;

double bits_per_second(DataSize size, Seconds time) {
  return 8.0 * static_cast<double>(size.bytes) / time.count();
}

}  // namespace

BitRate DemandMeter::measure(DataSize arrived, DataSize backlog, Instant now) {
  const Seconds time = now - measured_;
  if (!has_begun_ || now - measured_ >= kShortestLook) {
    double wanted = bits_per_second(backlog, kDrainTime);
    if (has_begun_ && arrived >= arrived_) wanted += bits_per_second(arrived - arrived_, time);
    if (wanted < wanted_) wanted += (wanted_ - wanted) * std::exp(-time / kFall);
    wanted_ = wanted;
    has_begun_ = true;
    arrived_ = arrived;
    measured_ = now;
  }
  const double most = static_cast<double>(kMaxBitRate.bits_per_second);
  return {static_cast<std::uint64_t>(std::min(wanted_ * kAdded, most))};
}

}  // namespace headgate
