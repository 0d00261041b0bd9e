// number + unit: one quantity read exactly, or a sentence that says what was probably meant.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/reading.hpp"
#include "config/unit.hpp"

namespace headgate {

// Each kind takes units of some dimensions, each dimension up to a largest value.
enum class QuantityKind : std::uint8_t { rate, burst, queue, size, time, bit_rate, limit, window };

struct Measure {
  Dimension dimension = Dimension::packets;
  std::uint64_t value = 0;    // in the base unit of the dimension; never zero
  std::uint32_t seconds = 1;  // of packet rates: so many packets in so many seconds
};

// Sets `measure` to what `text` says. Refuses numbers without a unit, units of other kinds, and zero,
// negative and fractional values and those beyond the largest.
Reading measure_quantity(std::string_view text, QuantityKind kind, Measure& measure);

// For a bare number where a quantity was expected, as the user wrote it: names the likely meanings.
Reading refuse_bare_number(std::string_view number, QuantityKind kind);

std::string_view examples_of(QuantityKind kind);  // `"1000pps" or "20mbit"`

}  // namespace headgate
