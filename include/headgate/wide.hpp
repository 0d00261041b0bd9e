// Integers of 128 bits, in which no product of a time and a rate overflows, and the way back to 64 bits: what does not fit
// becomes the nearest value that does.
#pragma once

#include <cstdint>
#include <limits>

#include "headgate/clock.hpp"

namespace headgate {

__extension__ typedef __int128 Int128;

// `divisor` is positive.
constexpr Int128 rounded_down_quotient(Int128 value, Int128 divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}
constexpr Int128 rounded_up_quotient(Int128 value, Int128 divisor) {
  return value / divisor + (value % divisor > 0 ? 1 : 0);
}

constexpr std::int64_t nearest_64_bits(Int128 value) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (value > Limits::max()) return Limits::max();
  return value < Limits::min() ? Limits::min() : static_cast<std::int64_t>(value);
}

constexpr std::uint64_t whole_number(Int128 value) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return value < 0 ? 0 : value > Int128{most} ? most : static_cast<std::uint64_t>(value);
}

constexpr Duration whole_duration(Int128 nanoseconds) {
  return Duration{nearest_64_bits(nanoseconds)};
}

constexpr Int128 nanoseconds_of(Instant instant) {
  return instant.time_since_epoch().count();
}

constexpr Instant instant_at(Int128 nanoseconds) {
  return Instant{whole_duration(nanoseconds)};
}

}  // namespace headgate
