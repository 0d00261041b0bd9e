// The grammar of --traffic: synthetic sources, separated by ";".
//
//   source   [steady | poisson | onoff TIME TIME] PROTOCOL FROM>TO SIZE[..SIZE] RATE {option}
//   PROTOCOL udp | tcp | icmp
//   FROM, TO 10.0.0.1:1000, [2001:db8::1]:53; the port may be left out; of icmp there is none
//   option   from TIME | to TIME | flows N [ports | sources | destinations] | burst Np | count Np | dscp NAME | ecn | l4s | mark N
//
// Sizes, rates and times are those of the configuration (config/quantity.hpp).
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "traffic_source.hpp"

namespace headgate {

// A sentence: what stands there and what was expected. Columns count from 1.
struct TrafficError : std::runtime_error {
  TrafficError(std::size_t column_, const std::string& what)
      : std::runtime_error("column " + std::to_string(column_) + ": " + what), column(column_) {}
  std::size_t column;
};

// At least one. Throws TrafficError.
std::vector<TrafficSource> read_traffic(std::string_view text);

}  // namespace headgate
