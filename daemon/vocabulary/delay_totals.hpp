// Delays of all packets that a class has sent since its start, by doublings from 32 µs on. Only ever grows.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "headgate/clock.hpp"

namespace headgate {

struct DelayTotals {
  static constexpr std::size_t kBounds = 19;  // the last is 8.4 s

  // Of packets[i]: they were delayed for less than this, and not for less than the one before.
  static constexpr Duration bound(std::size_t i) { return std::chrono::microseconds(std::int64_t{32} << i); }

  DelayTotals& operator+=(const DelayTotals& other) {
    for (std::size_t i = 0; i <= kBounds; ++i) packets[i] += other.packets[i];
    microseconds += other.microseconds;
    return *this;
  }
  bool operator==(const DelayTotals&) const = default;

  std::array<std::uint64_t, kBounds + 1> packets{};  // the last: those that were delayed for longer
  std::uint64_t microseconds = 0;                    // of all of them together
};

}  // namespace headgate
