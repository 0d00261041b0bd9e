#include "linux/link_kind.hpp"

#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <array>

namespace headgate {

namespace {

constexpr unsigned kRawIp = 519;    // ARPHRD_RAWIP
constexpr unsigned kIp6Gre = 823;   // ARPHRD_IP6GRE
constexpr unsigned kNone = 0xfffe;  // ARPHRD_NONE

// Those that the kernel takes an Ethernet header off for, of what is redirected there.
constexpr std::array<unsigned, 8> kWithoutHeader = {kNone,          ARPHRD_PPP, kRawIp,  ARPHRD_TUNNEL,
                                                    ARPHRD_TUNNEL6, ARPHRD_SIT, kIp6Gre, ARPHRD_IPGRE};

bool is_tunnel(const Link& link) {
  constexpr std::array<unsigned, 5> kTunnels = {ARPHRD_TUNNEL, ARPHRD_TUNNEL6, ARPHRD_SIT, ARPHRD_IPGRE,
                                                kIp6Gre};
  return std::find(kTunnels.begin(), kTunnels.end(), link.hardware_type) != kTunnels.end();
}

}  // namespace

std::optional<LinkHeader> link_header_of(const Link& link) {
  if (link.hardware_type == ARPHRD_ETHER) return LinkHeader::ethernet;
  if (std::find(kWithoutHeader.begin(), kWithoutHeader.end(), link.hardware_type) == kWithoutHeader.end())
    return std::nullopt;
  return LinkHeader::none;
}

// A tunnel without a remote end reads from the route of each packet where it goes, or from a header in front of it. On
// arrival GRE and SIT leave the outer header in front.
std::string why_not_shapable(const Link& link, Direction direction) {
  const bool may_leave = link.external && direction == Direction::egress;  // with its metadata
  if (is_tunnel(link) && (link.flags & IFF_POINTOPOINT) == 0 && !may_leave)
    return "is a tunnel without one remote end (" + link_kind_text(link) +
           "), and knows from their routes where packets go";
  const bool keeps_outer = link.hardware_type == ARPHRD_IPGRE || link.hardware_type == ARPHRD_SIT;
  if (keeps_outer && direction == Direction::ingress)
    return "is a tunnel (" + link_kind_text(link) +
           ") on which packets arrive behind the tunnel's header: only its egress can be shaped";
  return {};
}

bool takes_packets_of_sockets(const Link& link) {
  return link.hardware_type != ARPHRD_PPP;
}

std::string link_kind_text(const Link& link) {
  if (!link.kind.empty()) return "its kind is " + link.kind;
  return "its link type is " + std::to_string(link.hardware_type);
}

}  // namespace headgate
