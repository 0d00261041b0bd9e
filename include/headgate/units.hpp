// Quantities with their units in the type. None of them converts to a bare number by accident. Only what makes sense can be
// computed: rate × time = size, size ÷ rate = time. Sizes are rounded down and times up, so neither exceeds the rate.
#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>

#include "headgate/clock.hpp"
#include "headgate/wide.hpp"

namespace headgate {

// Packets in a period of some seconds, 1 … 10^9 in up to a day: also rates below one a second are exact.
struct PacketRate {
  std::uint64_t packets = 0;
  std::uint32_t seconds = 1;
  bool operator==(const PacketRate&) const = default;
};
inline constexpr PacketRate kMaxPacketRate{1'000'000'000};

// Bits per second, 1 … 400·10^9. 64 bits: 32-bit bytes per second end at 34 Gbit/s.
struct BitRate {
  std::uint64_t bits_per_second = 0;
  auto operator<=>(const BitRate&) const = default;
};
inline constexpr BitRate kMaxBitRate{400'000'000'000};

// A number of bytes. Of a packet: its Ethernet frame without the frame check sequence, or where its link
// has none, the IP packet.
struct DataSize {
  std::uint64_t bytes = 0;
  auto operator<=>(const DataSize&) const = default;

  constexpr DataSize& operator+=(DataSize other) {
    bytes += other.bytes;
    return *this;
  }
  constexpr DataSize& operator-=(DataSize other) {
    bytes -= other.bytes;
    return *this;
  }
  friend constexpr DataSize operator+(DataSize one, DataSize other) { return one += other; }
  friend constexpr DataSize operator-(DataSize one, DataSize other) { return one -= other; }
};

// So many units in a period, whatever a unit is: {10, minutes(1)}. A packet rate counts packets, a bit rate bytes.
//
// Limits: units 1 … 10^18; period 1 ns … 2 years; at most 1000 units a nanosecond. Else std::invalid_argument.
class UnitRate {
 public:
  constexpr UnitRate(std::uint64_t units, Duration period) : units_(units), period_(period) {
    if (units < 1 || units > kMostUnits || period < Duration{1} || period > kLongestPeriod) {
      throw std::invalid_argument("a rate needs 1 … 10^18 units in a period of 1 ns … 2 years");
    }
    if (Int128{units} > Int128{period.count()} * 1000) {
      throw std::invalid_argument("a rate is at most 1000 units a nanosecond");
    }
  }
  constexpr UnitRate(PacketRate rate) : UnitRate(rate.packets, std::chrono::seconds(rate.seconds)) {}
  constexpr UnitRate(BitRate rate) : UnitRate(rate.bits_per_second, std::chrono::seconds(8)) {}

  constexpr std::uint64_t units() const { return units_; }
  constexpr Duration period() const { return period_; }
  bool operator==(const UnitRate&) const = default;

  // Whole units that fit a time; 0 for a negative one.
  constexpr std::uint64_t in(Duration time) const {
    if (time <= Duration::zero()) return 0;
    return whole_number(Int128{time.count()} * Int128{units_} / Int128{period_.count()});
  }

  // The time that so many units take, rounded up. What is longer than a Duration holds is Duration::max().
  constexpr Duration time_for(std::uint64_t units) const {
    return whole_duration(rounded_up_quotient(Int128{units} * Int128{period_.count()}, Int128{units_}));
  }

 private:
  static constexpr std::uint64_t kMostUnits = 1'000'000'000'000'000'000;
  static constexpr Duration kLongestPeriod = std::chrono::days(731);

  std::uint64_t units_;
  Duration period_;
};

constexpr DataSize operator*(BitRate rate, Duration time) {
  return {UnitRate(rate).in(time)};
}
constexpr DataSize operator*(Duration time, BitRate rate) {
  return rate * time;
}
constexpr Duration operator/(DataSize size, BitRate rate) {
  return UnitRate(rate).time_for(size.bytes);
}

// Packets.
constexpr std::uint64_t operator*(PacketRate rate, Duration time) {
  return UnitRate(rate).in(time);
}
constexpr std::uint64_t operator*(Duration time, PacketRate rate) {
  return rate * time;
}
constexpr Duration operator/(std::uint64_t packets, PacketRate rate) {
  return UnitRate(rate).time_for(packets);
}

}  // namespace headgate
