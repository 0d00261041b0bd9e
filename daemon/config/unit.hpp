// The units of quantities, and what they count.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headgate {

// A period is a time in units that only some quantities take.
enum class Dimension : std::uint8_t { packet_rate, bit_rate, byte_rate, size, time, period, packets };

struct Unit {
  std::string_view name;  // in small letters
  Dimension dimension;
  std::uint64_t multiplier;   // to packets/s, bits/s (of byte rates too), bytes, nanoseconds, packets
  std::uint32_t seconds = 1;  // of packet rates: the period, in place of a second
};

std::span<const Unit> all_units();
const Unit* find_unit(std::string_view name);  // capitals do not matter; null: there is none

std::string_view noun_of(Dimension dimension);    // "a packet rate"
std::string_view base_unit_of(const Unit& unit);  // "packets per second": what the multiplier leads to
std::string text_of(std::uint64_t value, const Unit& unit);

}  // namespace headgate
