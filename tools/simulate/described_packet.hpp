// One packet in words, made a frame: what headgatectl explain asks about.
//
//   words    udp | tcp | icmp | src ADDRESS[:PORT] | dst ADDRESS[:PORT] | FROM>TO | sport N | dport N | SIZE | vlan N |
//            dscp NAME | ecn | l4s | mark N
//
// In any order; addresses, sizes and options are those of --traffic (traffic_grammar.hpp). What is left out: UDP, a source
// port of 40000, a destination port of 9, 64 bytes or what the headers need, and addresses for documentation (RFC 5737, 3849).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/link_header.hpp"

namespace headgate {

struct DescribedPacket {
  std::vector<std::byte> frame;  // with an Ethernet header; what is missing of its length are zeros
  std::uint32_t length = 0;
  std::uint32_t mark = 0;
};

// Throws TrafficError.
DescribedPacket read_packet(std::string_view text);

}  // namespace headgate
