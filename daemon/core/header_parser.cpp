#include "core/header_parser.hpp"

#include <algorithm>

namespace headgate {
namespace {

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
constexpr std::uint16_t kVlanIdentifier = 0x0fff;

constexpr std::uint8_t kIgmp = 2;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kDccp = 33;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kVrrp = 112;
constexpr std::uint8_t kSctp = 132;
constexpr std::uint8_t kUdpLite = 136;

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kDestinationOptions = 60;
constexpr std::uint8_t kMobility = 135;
constexpr std::uint8_t kHostIdentity = 139;
constexpr std::uint8_t kShim6 = 140;

// What is left of a frame; every read is checked against its end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool has(std::size_t count) const { return bytes_.size() >= count; }
  std::uint8_t at8(std::size_t position) const { return std::to_integer<std::uint8_t>(bytes_[position]); }
  std::uint16_t at16(std::size_t position) const {
    return static_cast<std::uint16_t>(at8(position) << 8 | at8(position + 1));
  }
  template <std::size_t N>
  void copy(std::size_t position, std::array<std::uint8_t, N>& to, std::size_t to_position = 0) const {
    for (std::size_t i = 0; to_position + i < N; ++i) to[to_position + i] = at8(position + i);
  }
  void skip(std::size_t count) { bytes_ = bytes_.subspan(count); }
  void limit(std::size_t count) { bytes_ = bytes_.first(std::min(count, bytes_.size())); }

 private:
  std::span<const std::byte> bytes_;
};

bool is_tag(std::uint16_t ether_type) {
  return ether_type == 0x8100 || ether_type == 0x88a8;
}

void note_tag(ParsedHeaders& headers, std::uint16_t tci) {
  const std::uint16_t identifier = tci & kVlanIdentifier;
  if (identifier == 0) return;
  if (headers.outer_vlan == 0) {
    headers.outer_vlan = identifier;
  } else if (headers.inner_vlan == 0) {
    headers.inner_vlan = identifier;
  }
}

bool is_dhcp(const ParsedHeaders& headers) {
  if (headers.protocol != kUdp) return false;
  const std::uint16_t to = headers.destination_port;
  return headers.network == NetworkProtocol::ipv4 ? to == 67 || to == 68 : to == 546 || to == 547;
}

// Neighbour and router discovery, redirects, multicast listener discovery.
bool is_icmpv6_control(std::uint8_t type) {
  return (type >= 130 && type <= 137) || type == 143;
}

// `reader` stands behind the network header and its extensions.
void parse_transport(Reader reader, ParsedHeaders& headers) {
  if (headers.fragment) return;
  switch (headers.protocol) {
    case kTcp:
    case kUdp:
    case kDccp:
    case kSctp:
    case kUdpLite:
      if (!reader.has(4)) return;
      headers.has_ports = true;
      headers.source_port = reader.at16(0);
      headers.destination_port = reader.at16(2);
      headers.control = is_dhcp(headers);
      return;
    case kIcmpv6:
      headers.control =
          headers.network == NetworkProtocol::ipv6 && reader.has(1) && is_icmpv6_control(reader.at8(0));
      return;
    case kIgmp:
      headers.control = headers.network == NetworkProtocol::ipv4;
      return;
    case kVrrp:
      headers.control = true;
      return;
    default:
      return;
  }
}

void parse_ipv4(Reader reader, ParsedHeaders& headers) {
  if (!reader.has(20) || reader.at8(0) >> 4 != 4) return;
  const std::size_t header_length = 4u * (reader.at8(0) & 0x0f);
  if (header_length < 20) return;
  headers.network = NetworkProtocol::ipv4;
  headers.dscp = reader.at8(1) >> 2;
  headers.protocol = reader.at8(9);
  headers.fragment = (reader.at16(6) & 0x3fff) != 0;  // "more fragments" or an offset
  for (auto* address : {&headers.source, &headers.destination}) (*address)[10] = (*address)[11] = 0xff;
  reader.copy(12, headers.source, 12);
  reader.copy(16, headers.destination, 12);
  // Behind the packet may stand padding of the Ethernet frame. A length of 0 is a super-packet's.
  const std::size_t total_length = reader.at16(2);
  if (total_length >= header_length) reader.limit(total_length);
  if (!reader.has(header_length)) return;
  reader.skip(header_length);
  parse_transport(reader, headers);
}

// Length in bytes of an IPv6 extension header that can be skipped, or 0. `reader` has at least two bytes.
std::size_t extension_length(std::uint8_t type, const Reader& reader) {
  switch (type) {
    case kHopByHop:
    case kRouting:
    case kDestinationOptions:
    case kMobility:
    case kHostIdentity:
    case kShim6:
      return 8u * (reader.at8(1) + 1u);
    case kFragment:
      return 8;
    case kAuthentication:
      return 4u * (reader.at8(1) + 2u);
    default:
      return 0;
  }
}

void parse_ipv6(Reader reader, ParsedHeaders& headers) {
  if (!reader.has(40) || reader.at8(0) >> 4 != 6) return;
  headers.network = NetworkProtocol::ipv6;
  headers.dscp = static_cast<std::uint8_t>(reader.at16(0) >> 6 & 0x3f);
  headers.protocol = reader.at8(6);
  reader.copy(8, headers.source);
  reader.copy(24, headers.destination);
  const std::size_t payload_length = reader.at16(4);
  reader.skip(40);
  if (payload_length != 0) reader.limit(payload_length);  // 0: a jumbogram or a super-packet
  for (int i = 0; i < kMaxExtensionHeaders && reader.has(2); ++i) {
    const std::size_t length = extension_length(headers.protocol, reader);
    if (length == 0) break;
    if (!reader.has(length)) return;
    const bool is_fragment = headers.protocol == kFragment && (reader.at16(2) & 0xfff9) != 0;
    headers.protocol = reader.at8(0);
    reader.skip(length);
    if (is_fragment) {
      // Only the first fragment shows what comes next, and all must be keyed alike.
      headers.fragment = true;
      return;
    }
  }
  parse_transport(reader, headers);
}

}  // namespace

ParsedHeaders parse_headers(std::span<const std::byte> frame, bool has_stripped, std::uint16_t stripped_tci) {
  ParsedHeaders headers;
  if (has_stripped) note_tag(headers, stripped_tci);
  Reader reader(frame);
  if (!reader.has(14)) return headers;
  reader.copy(0, headers.destination_mac);
  reader.copy(6, headers.source_mac);
  reader.skip(12);
  for (int tags = has_stripped ? 1 : 0; tags < kMaxTags && reader.has(6) && is_tag(reader.at16(0)); ++tags) {
    note_tag(headers, reader.at16(2));
    headers.tag_bytes += 4;
    reader.skip(4);
  }
  const std::uint16_t ether_type = reader.at16(0);
  reader.skip(2);
  if (ether_type == kEtherTypeIpv4) parse_ipv4(reader, headers);
  if (ether_type == kEtherTypeIpv6) parse_ipv6(reader, headers);
  return headers;
}

}  // namespace headgate
