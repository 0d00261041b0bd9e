// The words of a match expression, looked at before libpcap compiles it.
#pragma once

#include <string_view>

#include "config/reading.hpp"

namespace headgate {

// Refuses what libpcap would take and headgate must not:
//   vlan              a match sees frames without their tags, so it would never match
//   inbound, outbound  the direction is the shape's; compiled code cannot tell
//   names of hosts and networks: libpcap would ask the resolver, for seconds when the network is not up yet,
//   and an
//                     answer that changes later would go unnoticed. Names of ports and protocols are local,
//                     and stay.
Reading check_match_words(std::string_view expression);

// The first word that asks for something of the Ethernet header: "ether", "broadcast"; empty: there is none.
std::string_view ethernet_word(std::string_view expression);

}  // namespace headgate
