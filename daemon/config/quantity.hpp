// The quantities of a class and of the daemon, shared by the file and the command line.
//
//   number    digits, or digits.digits; read exactly, never through floating point
//   rate      number + pps (packets per second), p/min, p/h or p/d (packets per minute, hour and day), or number + a unit of tc(8): bit kbit mbit gbit tbit
//   (thousands),
//             kibit mibit gibit tibit (1024), and the same with bps for bit, which are bytes per second
//   size      number + b, k or kb, m or mb, g or gb (1024)
//   time      number + s, ms, us
//   packets   number + p
//   window    a time; also number + min, h, d
//
// Units may be in capitals, as in tc. A number without a unit is refused, and so are zero, negative and
// fractional results, and what does not fit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// The largest values, as the manual states them; those of rates are in units.hpp.
inline constexpr std::uint64_t kMaxBurstPackets = 1'000'000;
inline constexpr std::uint64_t kMaxQueuePackets = 1'000'000'000;
inline constexpr DataSize kMaxSize{64ULL << 30};
inline constexpr Duration kMaxTime = std::chrono::hours(24);
inline constexpr Duration kMaxWindow = std::chrono::hours(31 * 24);

inline constexpr std::uint64_t kDefaultQueuePackets = 100;
inline constexpr std::uint64_t kDefaultFairQueuePackets = 1000;  // of each flow of a fair class

// Each adds one element of the list to `rate`, `burst` or `queue`; a second element of the same kind is
// refused. The target is unchanged after an error.
Reading read_rate(std::string_view text, Rate& rate);
Reading read_burst(std::string_view text, Burst& burst);
Reading read_queue(std::string_view text, QueueCapacity& queue);

Reading read_bit_rate(std::string_view text, std::optional<BitRate>& rate);
Reading read_size(std::string_view text, DataSize& size);
Reading read_time(std::string_view text, Duration& time);

// Packets or bytes, in place of what stood there.
Reading read_limit(std::string_view text, WindowConfig& window);
Reading read_window(std::string_view text, Duration& length);

// A burst, once it is whole, against the rate of its class: packets go with a packet rate, bytes with a bit
// rate, and it must build up within kMaxTime. A burst of one packet goes with every rate; it is no tolerance,
// and is cleared.
Reading settle_burst(Burst& burst, const Rate& rate);

}  // namespace headgate
