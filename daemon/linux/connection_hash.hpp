// The program by which the kernel spreads packets over rings: the same value for all packets of a connection.
//
// Of IPv4 and IPv6, behind at most two tags in the frame: a hash of addresses, protocol and ports; of fragments and of what
// stands behind IPv6 extension headers, of the addresses alone, and in IPv4 the protocol. The kernel's own hash takes a tag
// in the frame for the packet's beginning where the tagged packet was made on this host, and what follows for its fields: then
// it changes with the packet's length.
//
// Classic BPF, over a frame from its Ethernet header on. Other frames get 0.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace headgate {

std::vector<sock_filter> connection_hash_program();

}  // namespace headgate
