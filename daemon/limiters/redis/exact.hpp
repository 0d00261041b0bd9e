// Whole numbers that a script of Redis counts exactly: its numbers are doubles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "headgate/units.hpp"
#include "headgate/wide.hpp"

namespace headgate::redis {

inline constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;
// The sum of two of these is exact, too.
inline constexpr std::uint64_t kMostSummed = kMostExact / 2;
// Microseconds, 71 years: a time that is so much later is exact.
inline constexpr std::uint64_t kLongestTime = kMostExact / 4;

// The smallest amount that occurs at a rate: whole numbers of it are a unit, and what a microsecond brings.
struct Parts {
  std::uint64_t unit;
  std::uint64_t microsecond;
};

inline Parts parts_of(UnitRate rate) {
  const auto period = static_cast<std::uint64_t>(rate.period().count());
  const std::uint64_t common = std::gcd(rate.units(), period);
  const std::uint64_t thousand = std::gcd(std::uint64_t{1000}, period / common);
  const Int128 microsecond = Int128{rate.units() / common} * (1000 / thousand);
  if (microsecond > Int128{kMostSummed}) {
    throw std::invalid_argument(
        "this rate has too many units in lowest terms for Redis to count exactly; up to 4·10^12 always can "
        "be");
  }
  return {period / common / thousand, static_cast<std::uint64_t>(microsecond)};
}

inline void check_burst(std::uint64_t burst, const Parts& parts) {
  if (Int128{burst} * parts.unit / parts.microsecond >= Int128{kLongestTime}) {
    throw std::invalid_argument("a burst shared by Redis takes less than 71 years at its rate");
  }
}

// In whole microseconds, rounded up.
inline Duration time_of(Int128 parts, std::uint64_t microsecond) {
  return whole_duration(rounded_up_quotient(std::max<Int128>(0, parts), microsecond) * 1000);
}

inline Duration microseconds(Int128 count) {
  return whole_duration(std::max<Int128>(0, count) * 1000);
}

// The length of a window in microseconds.
inline std::uint64_t window_length(Duration length) {
  const std::int64_t nanoseconds = length.count();
  const auto whole = static_cast<std::uint64_t>(nanoseconds / 1000);
  if (nanoseconds < 1000 || nanoseconds % 1000 != 0 || whole > kLongestTime) {
    throw std::invalid_argument("a window shared by Redis is 1 us … 71 years long, in whole microseconds");
  }
  return whole;
}

}  // namespace headgate::redis
