// What headgatectl simulate does: a configuration against a trace or synthetic traffic, in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headgate/clock.hpp"

namespace headgate {

struct SimulateOptions {
  std::string config;                // file
  std::string shape;                 // "eth0/egress", or "eth0" where that is one; empty: the only one
  std::vector<std::string> traces;   // files
  std::string filter;                // pcap-filter(7), of the traces
  std::vector<std::string> traffic;  // by tools/simulate/traffic_grammar.hpp
  std::optional<Duration> until;
  std::uint64_t seed = 1;
  std::optional<std::size_t> flows;  // how many are shown
  std::string html;                  // file; empty: none
  std::string out;                   // pcapng file; empty: none
  bool json = false;
  bool csv = false;
};

// Needs no daemon and no privileges. Returns the exit code; throws UsageError, std::runtime_error, OutputClosed.
int simulate(const SimulateOptions& options);

}  // namespace headgate
