#include "control/flow_key_text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string_view>

namespace headgate {
namespace {

using Address = std::array<std::uint8_t, 16>;

struct NamedProtocol {
  std::uint8_t number;
  const char* name;
  bool has_ports;
};

constexpr NamedProtocol kProtocols[] = {
    {IPPROTO_ICMP, "icmp", false}, {IPPROTO_IGMP, "igmp", false},      {IPPROTO_IPIP, "ipip", false},
    {IPPROTO_TCP, "tcp", true},    {IPPROTO_UDP, "udp", true},         {IPPROTO_DCCP, "dccp", true},
    {IPPROTO_IPV6, "ipv6", false}, {IPPROTO_GRE, "gre", false},        {IPPROTO_ESP, "esp", false},
    {IPPROTO_AH, "ah", false},     {IPPROTO_ICMPV6, "icmp6", false},   {89, "ospf", false},
    {IPPROTO_SCTP, "sctp", true},  {IPPROTO_UDPLITE, "udplite", true},
};

const NamedProtocol* find_protocol(std::uint8_t number) {
  const auto* found = std::find_if(std::begin(kProtocols), std::end(kProtocols),
                                   [&](const NamedProtocol& protocol) { return protocol.number == number; });
  return found == std::end(kProtocols) ? nullptr : found;
}

bool is_ipv4(const Address& address) {
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), address.begin());
}

std::string address_text(const Address& address, unsigned prefix_v4, unsigned prefix_v6) {
  const bool ipv4 = is_ipv4(address);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ipv4 ? AF_INET : AF_INET6, address.data() + (ipv4 ? 12 : 0), text, sizeof text);
  const unsigned prefix = ipv4 ? prefix_v4 : prefix_v6;
  const bool whole = prefix == (ipv4 ? 32 : 128);
  return whole ? text : text + ("/" + std::to_string(prefix));
}

// A MAC address is in the last six bytes of its side.
std::string mac_text(const Address& side) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", side[10], side[11], side[12], side[13],
                side[14], side[15]);
  return text;
}

void decode_transport(const FlowKey& key, DecodedFlowKey& decoded) {
  const NamedProtocol* protocol = find_protocol(key.protocol);
  decoded.protocol_number = key.protocol;
  decoded.protocol = protocol ? protocol->name : "protocol " + std::to_string(key.protocol);
  if (key.source_port != 0 || key.destination_port != 0) {
    decoded.source_port = key.source_port;
    decoded.destination_port = key.destination_port;
  } else {
    decoded.fragments = protocol && protocol->has_ports;
  }
}

std::string vlan_text(const DecodedFlowKey& key) {
  if (key.outer_vlan == 0 && key.inner_vlan == 0) return "untagged";
  std::string text = "vlan " + std::to_string(key.outer_vlan);
  if (key.inner_vlan != 0) text += "." + std::to_string(key.inner_vlan);
  return text;
}

}  // namespace

DecodedFlowKey decode(const FlowKey& key, const KeySpec& spec, const std::string& plan) {
  DecodedFlowKey decoded;
  if (is_plan_key(key)) {
    decoded.plan = plan;
    return decoded;
  }
  if (spec.source_mac) decoded.source_mac = mac_text(key.source);
  if (spec.destination_mac) decoded.destination_mac = mac_text(key.destination);
  if (spec.source_address) {
    decoded.source = address_text(key.source, spec.source_prefix_v4, spec.source_prefix_v6);
  }
  if (spec.destination_address) {
    decoded.destination =
        address_text(key.destination, spec.destination_prefix_v4, spec.destination_prefix_v6);
  }
  if (spec.ports) decode_transport(key, decoded);
  if (spec.vlan) {
    decoded.has_vlan = true;
    decoded.outer_vlan = static_cast<std::uint16_t>(key.vlan[0] << 4 | key.vlan[1] >> 4);
    decoded.inner_vlan = static_cast<std::uint16_t>((key.vlan[1] & 0x0f) << 8 | key.vlan[2]);
  }
  return decoded;
}

std::string address_text(const DecodedFlowKey& key) {
  if (key.plan) return *key.plan;
  std::string text = key.has_vlan ? vlan_text(key) : std::string();
  for (const auto& address : {key.source, key.destination, key.source_mac, key.destination_mac})
    if (address) text += (text.empty() ? "" : " ") + *address;
  return text;
}

std::string to_text(const DecodedFlowKey& key) {
  std::string text;
  auto add = [&](std::string_view word) {
    if (!text.empty()) text += ' ';
    text += word;
  };
  if (key.plan) return *key.plan;
  const auto& source = key.source_mac ? key.source_mac : key.source;
  const auto& destination = key.destination_mac ? key.destination_mac : key.destination;

  if (key.has_vlan) add(vlan_text(key));
  if (source) add(*source);
  if (source || destination) add("→");
  if (destination) add(*destination);
  if (key.protocol) add(*key.protocol);
  if (key.source_port && key.destination_port) {
    add(std::to_string(*key.source_port) + "→" + std::to_string(*key.destination_port));
  }
  if (key.fragments) add("fragments");
  return text.empty() ? "all packets" : text;
}

}  // namespace headgate
