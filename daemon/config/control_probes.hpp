// Which control protocols a match expression is about, found by running it on packets of these protocols.
#pragma once

#include <string>
#include <vector>

#include "core/classifier.hpp"

namespace headgate {

// The protocols of which `matcher`, compiled from `expression`, takes packets while it takes none of their neighbours:
// the same packet with another port, type or protocol. So "udp port 67" names DHCP; "udp" and "portrange 1-1023", which
// take it among others, do not. The packets bear well-known addresses, and some of those in the expression.
std::vector<std::string> control_protocols_named(const std::string& expression, const PacketMatcher& matcher);

}  // namespace headgate
