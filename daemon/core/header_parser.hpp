// What headgate reads of a frame: the fields that keys, selectors and the rule for control traffic need.
// Pure, never reads beyond the frame, accepts anything: what is broken or unknown is left at its default.
//
// Limits: tags of 802.1Q and 802.1ad, at most kMaxTags of them, the one that the kernel took out of the frame included
// (identifier 0 only carries a priority and is not reported); at most kMaxExtensionHeaders of IPv6. A frame beyond a
// limit counts as if it ended there. The divert program in the kernel (linux/packet_headers.bpf.h) has the same limits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headgate {

inline constexpr int kMaxTags = 2;
inline constexpr int kMaxExtensionHeaders = 8;

enum class NetworkProtocol : std::uint8_t { other, ipv4, ipv6 };

struct ParsedHeaders {
  NetworkProtocol network = NetworkProtocol::other;
  bool fragment = false;   // any fragment of a datagram, the first included
  bool has_ports = false;  // TCP, UDP, SCTP, DCCP, UDP-Lite with both ports in the frame, not a fragment
  // Neighbour discovery, RS/RA, redirect (ICMPv6 133-137), MLD (130-132 and 143), IGMP, VRRP, DHCP (to UDP port 67 or 68
  // in IPv4), DHCPv6 (to UDP port 546 or 547 in IPv6); no fragment.
  bool control = false;
  std::uint8_t dscp = 0;      // of the outermost IP header: 0 to 63
  std::uint8_t protocol = 0;  // after IPv6 extension headers; of a fragment, what its fragment header names
  std::uint16_t source_port = 0;  // host byte order
  std::uint16_t destination_port = 0;
  std::array<std::uint8_t, 6> destination_mac{};
  std::array<std::uint8_t, 6> source_mac{};
  std::array<std::uint8_t, 16> source{};  // IPv4 as ::ffff:a.b.c.d
  std::array<std::uint8_t, 16> destination{};
  std::uint16_t outer_vlan = 0;  // identifiers of tags inside the frame; 0: none
  std::uint16_t inner_vlan = 0;
  std::uint16_t tag_bytes = 0;  // length of the tags inside the frame, which stand after the MAC addresses
};

// `stripped_tci` is the outermost tag that the kernel has taken out of the frame already; `has_stripped` says if any.
ParsedHeaders parse_headers(std::span<const std::byte> frame, bool has_stripped = false,
                            std::uint16_t stripped_tci = 0);

}  // namespace headgate
