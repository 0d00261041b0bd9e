#include "core/control_limit.hpp"

#include <algorithm>

namespace headgate {

namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

ControlLimit::Bound bound_of(std::uint64_t per_second, std::uint64_t least_burst) {
  const Duration least(static_cast<Duration::rep>(least_burst * kNanoseconds / per_second));
  return {.per_second = per_second, .burst = std::max(ControlLimit::kBurstTime, least)};
}

}  // namespace

ControlLimit::ControlLimit(const Rate& limit) {
  if (limit.packets) packets_ = bound_of(limit.packets->packets, kBurstFrames);
  if (limit.bits) bits_ = bound_of(limit.bits->bits_per_second, kBurstFrames * kFullFrame.bytes * 8);
}

}  // namespace headgate
