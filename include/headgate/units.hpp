// Quantities with their units in the type. None of them converts to a bare number by accident.
#pragma once

#include <compare>
#include <cstdint>

namespace headgate {

// Packets per second, 1 … 10^9.
struct PacketRate {
  std::uint64_t packets_per_second = 0;
  auto operator<=>(const PacketRate&) const = default;
};
inline constexpr PacketRate kMaxPacketRate{1'000'000'000};

// Bits per second, 1 … 400·10^9. 64 bits: 32-bit bytes per second end at 34 Gbit/s.
struct BitRate {
  std::uint64_t bits_per_second = 0;
  auto operator<=>(const BitRate&) const = default;
};
inline constexpr BitRate kMaxBitRate{400'000'000'000};

// A number of bytes. Of a packet: its Ethernet frame without the frame check sequence.
struct DataSize {
  std::uint64_t bytes = 0;
  auto operator<=>(const DataSize&) const = default;
};

}  // namespace headgate
