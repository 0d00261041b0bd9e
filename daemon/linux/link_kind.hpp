// What kind of link an interface is, as far as shaping depends on it.
#pragma once

#include <optional>
#include <string>

#include "linux/netlink.hpp"
#include "pipeline/link_header.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// None: of a kind whose packets begin with something else.
std::optional<LinkHeader> link_header_of(const Link& link);

// Why packets of a link without an Ethernet header cannot be taken out in this direction and given back; empty: they can.
std::string why_not_shapable(const Link& link, Direction direction);

// Whether a packet socket can send super-packets there: one that knows virtio headers takes the first bytes of a packet for
// as long a header as the device wants room for.
bool takes_packets_of_sockets(const Link& link);

// "its kind is tun", or "its link type is 512"
std::string link_kind_text(const Link& link);

}  // namespace headgate
