#include "config/control_probes.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace headgate {
namespace {

constexpr std::uint8_t kIgmp = 2;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kVrrp = 112;

// What stands behind the addresses.
struct Payload {
  std::uint8_t protocol = 0;
  std::uint16_t source_port = 0;       // ICMPv6: type and code
  std::uint16_t destination_port = 0;  // ICMPv6: of no interest
};

constexpr Payload icmpv6(std::uint8_t type) {
  return {kIcmpv6, static_cast<std::uint16_t>(type << 8), 0};
}

struct ControlProtocol {
  std::string_view name;
  bool ipv6 = false;
  Payload packet;
  std::array<Payload, 4> neighbours;
};

// Neighbours are numbers that no expression names for their own sake: "igmp or icmp" names IGMP.
constexpr std::array<Payload, 4> kOtherIcmpv6 = {icmpv6(100), icmpv6(126), icmpv6(170), icmpv6(200)};
constexpr std::array<Payload, 4> kNearIgmp = {{{3}, {7}, {99}, {253}}};
constexpr std::array<Payload, 4> kNearVrrp = {{{111}, {113}, {99}, {253}}};

// As a client's, a server's or a relay's source port; the last also stands for whichever.
constexpr std::uint16_t kAnyPort = 40'000;

constexpr std::array<Payload, 4> near_dhcp(std::uint16_t source_port) {
  return {
      {{kUdp, source_port, 66}, {kUdp, source_port, 69}, {kUdp, source_port, 1067}, {kUdp, source_port, 9}}};
}
constexpr std::array<Payload, 4> near_dhcpv6(std::uint16_t source_port) {
  return {{{kUdp, source_port, 545},
           {kUdp, source_port, 548},
           {kUdp, source_port, 1547},
           {kUdp, source_port, 9}}};
}

constexpr auto kProtocols = std::to_array<ControlProtocol>({
    {"IGMP", false, {kIgmp}, kNearIgmp},
    {"VRRP", false, {kVrrp}, kNearVrrp},
    {"VRRP", true, {kVrrp}, kNearVrrp},
    {"DHCP", false, {kUdp, 68, 67}, near_dhcp(68)},
    {"DHCP", false, {kUdp, 67, 68}, near_dhcp(67)},
    {"DHCP", false, {kUdp, kAnyPort, 67}, near_dhcp(kAnyPort)},
    {"DHCP", false, {kUdp, kAnyPort, 68}, near_dhcp(kAnyPort)},
    {"DHCPv6", true, {kUdp, 546, 547}, near_dhcpv6(546)},
    {"DHCPv6", true, {kUdp, 547, 546}, near_dhcpv6(547)},
    {"DHCPv6", true, {kUdp, kAnyPort, 547}, near_dhcpv6(kAnyPort)},
    {"DHCPv6", true, {kUdp, kAnyPort, 546}, near_dhcpv6(kAnyPort)},
    {"MLD", true, icmpv6(130), kOtherIcmpv6},
    {"MLD", true, icmpv6(131), kOtherIcmpv6},
    {"MLD", true, icmpv6(132), kOtherIcmpv6},
    {"MLD", true, icmpv6(143), kOtherIcmpv6},
    {"router discovery", true, icmpv6(133), kOtherIcmpv6},
    {"router discovery", true, icmpv6(134), kOtherIcmpv6},
    {"neighbour discovery", true, icmpv6(135), kOtherIcmpv6},
    {"neighbour discovery", true, icmpv6(136), kOtherIcmpv6},
    {"ICMPv6 redirects", true, icmpv6(137), kOtherIcmpv6},
});

constexpr std::size_t kAddressesFromExpression = 2;  // of each family

using Address = std::array<std::uint8_t, 16>;  // IPv4: the first four bytes

struct Addresses {
  std::vector<Address> sources;
  std::vector<Address> destinations;
};

Address read_address(int family, const std::string& text) {
  Address address{};
  inet_pton(family, text.c_str(), address.data());
  return address;
}

void add_those_in(const std::string& expression, int family, Addresses& addresses) {
  static constexpr std::string_view kSeparators = " \t\r\n()!&|/";
  std::size_t found = 0;
  for (std::size_t begin = 0; begin < expression.size() && found < kAddressesFromExpression;) {
    const std::size_t end = std::min(expression.find_first_of(kSeparators, begin), expression.size());
    Address address{};
    if (inet_pton(family, expression.substr(begin, end - begin).c_str(), address.data()) == 1) {
      addresses.sources.push_back(address);
      addresses.destinations.push_back(address);
      ++found;
    }
    begin = end + 1;
  }
}

Addresses addresses_for(const std::string& expression, bool ipv6) {
  const int family = ipv6 ? AF_INET6 : AF_INET;
  Addresses addresses;
  const auto sources = ipv6 ? std::array{"fe80::1", "2001:db8::1"} : std::array{"0.0.0.0", "192.0.2.1"};
  const auto destinations = ipv6 ? std::array{"ff02::1", "ff02::1:2", "2001:db8::2"}
                                 : std::array{"255.255.255.255", "224.0.0.18", "192.0.2.2"};
  for (const char* source : sources) addresses.sources.push_back(read_address(family, source));
  for (const char* destination : destinations)
    addresses.destinations.push_back(read_address(family, destination));
  add_those_in(expression, family, addresses);
  return addresses;
}

class Frame {
 public:
  Frame(bool ipv6, const Address& source, const Address& destination, const Payload& payload) {
    const std::size_t network_header = ipv6 ? 40 : 20;
    put8(0, ipv6 ? 0x33 : 0xff, 6);  // to all
    put8(6, 0x02);
    put16(12, ipv6 ? 0x86dd : 0x0800);
    put8(14, ipv6 ? 0x60 : 0x45);
    if (ipv6) {
      put16(18, kPayloadBytes);
      put8(20, payload.protocol);
      put8(21, 255);
    } else {
      put16(16, static_cast<std::uint16_t>(network_header + kPayloadBytes));
      put8(22, 255);
      put8(23, payload.protocol);
    }
    const std::size_t address_bytes = ipv6 ? 16 : 4;
    const std::size_t addresses = 14 + network_header - 2 * address_bytes;
    std::memcpy(&bytes_[addresses], source.data(), address_bytes);
    std::memcpy(&bytes_[addresses + address_bytes], destination.data(), address_bytes);
    put16(14 + network_header, payload.source_port);
    put16(14 + network_header + 2, payload.destination_port);
    size_ = 14 + network_header + kPayloadBytes;
  }

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  static constexpr std::uint16_t kPayloadBytes = 48;

  void put8(std::size_t at, std::uint8_t value, std::size_t times = 1) {
    std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), times, std::byte{value});
  }
  void put16(std::size_t at, std::uint16_t value) {
    put8(at, static_cast<std::uint8_t>(value >> 8));
    put8(at + 1, static_cast<std::uint8_t>(value));
  }

  std::array<std::byte, 14 + 40 + kPayloadBytes> bytes_{};
  std::size_t size_ = 0;
};

bool names(const PacketMatcher& matcher, const ControlProtocol& protocol, const Addresses& addresses) {
  for (const Address& source : addresses.sources) {
    for (const Address& destination : addresses.destinations) {
      const auto takes = [&](const Payload& payload) {
        return matcher.matches(Frame(protocol.ipv6, source, destination, payload).bytes());
      };
      if (takes(protocol.packet) &&
          std::none_of(protocol.neighbours.begin(), protocol.neighbours.end(), takes))
        return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> control_protocols_named(const std::string& expression,
                                                 const PacketMatcher& matcher) {
  const Addresses ipv4 = addresses_for(expression, false);
  const Addresses ipv6 = addresses_for(expression, true);
  std::vector<std::string> found;
  for (const ControlProtocol& protocol : kProtocols) {
    const bool listed = !found.empty() && found.back() == protocol.name;
    if (!listed && names(matcher, protocol, protocol.ipv6 ? ipv6 : ipv4)) found.emplace_back(protocol.name);
  }
  return found;
}

}  // namespace headgate
