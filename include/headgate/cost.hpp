// What a packet takes of a rate and of a queue.
#pragma once

#include <cstdint>

namespace headgate {

struct Cost {
  std::uint64_t packets = 0;  // of a super-packet: its segments
  std::uint64_t bytes = 0;
  bool operator==(const Cost&) const = default;

  constexpr Cost& operator+=(const Cost& other) {
    packets += other.packets;
    bytes += other.bytes;
    return *this;
  }
  constexpr Cost& operator-=(const Cost& other) {
    packets -= other.packets;
    bytes -= other.bytes;
    return *this;
  }
  friend constexpr Cost operator+(Cost one, const Cost& other) { return one += other; }
  friend constexpr Cost operator-(Cost one, const Cost& other) { return one -= other; }
};

}  // namespace headgate
