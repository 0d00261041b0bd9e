// Words that say what stands in the headers of packets: protocol, endpoints, code point, mark. All that read may throw
// TrafficError.
#pragma once

#include <string_view>

#include "traffic_source.hpp"
#include "traffic_words.hpp"

namespace headgate {

inline constexpr std::string_view kProtocols[] = {"udp", "tcp", "icmp"};

// False: the word names none.
bool take_protocol(const TrafficWord& word, TrafficSource& source);

// An address, with a port or without: 10.0.0.1:1000, [2001:db8::1]:53.
struct EndpointWord {
  TrafficEndpoint endpoint;
  bool ipv6 = false;
  bool has_port = false;
};
EndpointWord read_endpoint(const TrafficWord& word, const TrafficSource& source);

// Two of them: 10.0.0.1:1000>10.0.0.2:53.
void read_endpoints(const TrafficWord& word, TrafficSource& source);

// Once the addresses are known.
void name_icmp_of_ipv6(TrafficSource& source);

// dscp NAME | ecn | l4s | mark N, of which the first word is taken already. False: it is none of these.
bool take_header_option(const TrafficWord& word, TrafficWords& words, TrafficSource& source);

}  // namespace headgate
