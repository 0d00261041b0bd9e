// pcap-filter(7) expressions, compiled by libpcap and run by its interpreter.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/classic_match.hpp"
#include "core/classifier.hpp"

namespace headgate {

struct CompiledMatch {
  std::shared_ptr<const PacketMatcher> matcher;  // null: `error` says why
  std::string error;                             // libpcap's words, made plain
  std::size_t programs = 0;                      // the parts in which it was compiled
  std::shared_ptr<const ClassicMatch> code;      // what `matcher` runs

  // Worth a warning:
  bool never = false;                // certainly matches neither IPv4 nor IPv6
  std::vector<std::string> control;  // the control protocols that it names: "DHCP"
};

// Compiles for Ethernet. `vlan` in the expression is refused with a hint at `key`. Takes up to seconds for an expression
// that cannot be taken apart; several threads may compile at once. CompiledMatches compiles each expression once.
CompiledMatch compile_match(const std::string& expression);

}  // namespace headgate
