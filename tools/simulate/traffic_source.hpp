// One source of synthetic traffic, as values: what --traffic says (traffic_grammar.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

enum class ArrivalPattern : std::uint8_t {
  steady,   // evenly
  poisson,  // gaps drawn from an exponential distribution
  on_off,   // steady for a drawn time, silent for a drawn time, and so on
};

// Which part of its header tells one flow of a source from the next: each has one more than the one before.
enum class FlowsBy : std::uint8_t { source_port, source_address, destination_address };

struct TrafficEndpoint {
  std::array<std::uint8_t, 16> address{};  // IPv4 as ::ffff:a.b.c.d
  std::uint16_t port = 0;
};

struct TrafficSource {
  ArrivalPattern pattern = ArrivalPattern::steady;
  Duration on{}, off{};  // means, of on_off
  std::uint8_t protocol = 17;
  bool ipv6 = false;
  TrafficEndpoint source, destination;
  std::uint32_t least_bytes = 0;  // of a frame; where they differ, each size between is as likely
  std::uint32_t most_bytes = 0;
  Rate rate;  // of each flow; one of the two is set
  std::uint32_t flows = 1;
  FlowsBy flows_by = FlowsBy::source_port;
  std::uint32_t burst = 1;             // packets that come at once; the rate stays
  std::optional<std::uint64_t> count;  // packets of each flow, then no more
  Duration from{};                     // since the beginning
  std::optional<Duration> to;          // none: the whole time
  std::uint8_t traffic_class = 0;      // code point and congestion bits of the IP header
  std::uint32_t mark = 0;
};

}  // namespace headgate
