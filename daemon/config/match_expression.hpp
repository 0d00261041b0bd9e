// pcap-filter(7) expressions, compiled by libpcap and run by its interpreter.
#pragma once

#include <memory>
#include <string>

#include "core/classifier.hpp"

namespace headgate {

// Compiles for Ethernet. On an error returns null and sets `error` to libpcap's words, made plain; `vlan` in
// the expression is refused with a hint at `key`.
std::unique_ptr<PacketMatcher> compile_match(const std::string& expression, std::string& error);

}  // namespace headgate
