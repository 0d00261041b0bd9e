#include "config/unit.hpp"

#include <algorithm>
#include <array>

#include "config/characters.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

constexpr std::array kUnits = {
    Unit{"pps", Dimension::packet_rate, 1},
    Unit{"p/min", Dimension::packet_rate, 1, 60},
    Unit{"p/h", Dimension::packet_rate, 1, 3'600},
    Unit{"p/d", Dimension::packet_rate, 1, 86'400},
    Unit{"bit", Dimension::bit_rate, 1},
    Unit{"kbit", Dimension::bit_rate, 1'000},
    Unit{"mbit", Dimension::bit_rate, 1'000'000},
    Unit{"gbit", Dimension::bit_rate, 1'000'000'000},
    Unit{"tbit", Dimension::bit_rate, 1'000'000'000'000},
    Unit{"kibit", Dimension::bit_rate, 1ULL << 10},
    Unit{"mibit", Dimension::bit_rate, 1ULL << 20},
    Unit{"gibit", Dimension::bit_rate, 1ULL << 30},
    Unit{"tibit", Dimension::bit_rate, 1ULL << 40},
    Unit{"bps", Dimension::byte_rate, 8},
    Unit{"kbps", Dimension::byte_rate, 8'000},
    Unit{"mbps", Dimension::byte_rate, 8'000'000},
    Unit{"gbps", Dimension::byte_rate, 8'000'000'000},
    Unit{"tbps", Dimension::byte_rate, 8'000'000'000'000},
    Unit{"kibps", Dimension::byte_rate, 8ULL << 10},
    Unit{"mibps", Dimension::byte_rate, 8ULL << 20},
    Unit{"gibps", Dimension::byte_rate, 8ULL << 30},
    Unit{"tibps", Dimension::byte_rate, 8ULL << 40},
    Unit{"b", Dimension::size, 1},
    Unit{"k", Dimension::size, 1ULL << 10},
    Unit{"kb", Dimension::size, 1ULL << 10},
    Unit{"m", Dimension::size, 1ULL << 20},
    Unit{"mb", Dimension::size, 1ULL << 20},
    Unit{"g", Dimension::size, 1ULL << 30},
    Unit{"gb", Dimension::size, 1ULL << 30},
    Unit{"us", Dimension::time, 1'000},
    Unit{"ms", Dimension::time, 1'000'000},
    Unit{"s", Dimension::time, 1'000'000'000},
    Unit{"min", Dimension::period, 60'000'000'000},
    Unit{"h", Dimension::period, 3'600'000'000'000},
    Unit{"d", Dimension::period, 86'400'000'000'000},
    Unit{"p", Dimension::packets, 1},
};

}  // namespace

std::span<const Unit> all_units() {
  return kUnits;
}

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (std::equal(unit.name.begin(), unit.name.end(), name.begin(), name.end(), same_letter)) return &unit;
  }
  return nullptr;
}

std::string_view noun_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::packet_rate:
      return "a packet rate";
    case Dimension::bit_rate:
    case Dimension::byte_rate:
      return "a bit rate";
    case Dimension::size:
      return "a size";
    case Dimension::time:
    case Dimension::period:
      return "a time";
    case Dimension::packets:
      break;
  }
  return "a number of packets";
}

std::string_view base_unit_of(const Unit& unit) {
  switch (unit.dimension) {
    case Dimension::packet_rate:
      return unit.seconds == 1       ? "packets per second"
             : unit.seconds == 60    ? "packets per minute"
             : unit.seconds == 3'600 ? "packets per hour"
                                     : "packets per day";
    case Dimension::bit_rate:
    case Dimension::byte_rate:
      return "bits per second";
    case Dimension::size:
      return "bytes";
    case Dimension::time:
    case Dimension::period:
      return "nanoseconds";
    case Dimension::packets:
      break;
  }
  return "packets";
}

std::string text_of(std::uint64_t value, const Unit& unit) {
  switch (unit.dimension) {
    case Dimension::packet_rate:
      return to_text(PacketRate{value, unit.seconds});
    case Dimension::bit_rate:
    case Dimension::byte_rate:
      return to_text(BitRate{value});
    case Dimension::size:
      return to_text(DataSize{value});
    case Dimension::time:
    case Dimension::period:
      return to_text(Duration(static_cast<Duration::rep>(value)));
    case Dimension::packets:
      break;
  }
  return std::to_string(value) + "p";
}

}  // namespace headgate
