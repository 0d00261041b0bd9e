#include "headgate/gcra.hpp"

#include <cmath>

namespace headgate {
namespace {

constexpr std::int64_t kForever = std::int64_t{1} << 61;  // 73 years

std::int64_t clamped(Instant instant) {
  return std::clamp(instant, -Gcra::kEnd.time_since_epoch() + Instant{}, Gcra::kEnd)
      .time_since_epoch()
      .count();
}

}  // namespace

RateLimit::RateLimit(UnitRate rate, std::uint64_t burst)
    : rate_(rate.units()),
      period_(static_cast<std::uint64_t>(rate.period().count())),
      few_(static_cast<std::uint64_t>(kForever) / period_),
      burst_units_(burst) {
  unit_ = long_time_of(1);
  burst_ = long_time_of(burst);
}

// Of any number of units.
ExactTime RateLimit::long_time_of(std::uint64_t units) const {
  const Int128 product = Int128{units} * period_;
  const Int128 nanoseconds = product / rate_;
  if (nanoseconds > kForever) return {kForever, 0};
  return {static_cast<std::int64_t>(nanoseconds), static_cast<std::uint64_t>(product % rate_)};
}

std::int64_t RateLimit::converted(std::int64_t wait, const RateLimit& other) const {
  const auto faster = [](const RateLimit& one, const RateLimit& than) {
    return static_cast<long double>(one.rate_) * static_cast<long double>(than.period_);
  };
  constexpr auto kLongest = static_cast<long double>(kForever);
  const long double converted =
      std::ceil(static_cast<long double>(wait) * (faster(other, *this) / faster(*this, other)));
  return static_cast<std::int64_t>(std::min(converted, kLongest));
}

Instant Gcra::earliest(std::uint64_t n, Instant now) const {
  const std::int64_t at = std::max(clamped(now), limit_.earliest(next_, n));
  return std::min(kEnd, Instant{Duration{at}});
}

void Gcra::commit(std::uint64_t n, Instant at) {
  next_ = limit_.after(next_, clamped(at), n);
  if (next_.nanoseconds >= kEnd.time_since_epoch().count()) next_ = {kEnd.time_since_epoch().count(), 0};
}

}  // namespace headgate
