// Flow keys as people read them. Which fields of a key mean something is up to the KeySpec of its class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vocabulary/flow_key.hpp"

namespace headgate {

// The fields that the spec keeps, decoded. Addresses that are cut to a prefix end in "/24".
struct DecodedFlowKey {
  std::optional<std::string> plan;    // its name, of one whose members are together; then nothing else
  std::optional<std::string> source;  // IP address
  std::optional<std::string> destination;
  std::optional<std::string> source_mac;
  std::optional<std::string> destination_mac;
  std::optional<std::string> protocol;       // "udp", or "protocol 253" where it has no name
  std::uint8_t protocol_number = 0;          // with `protocol`
  std::optional<std::uint16_t> source_port;  // none: a protocol without ports, or a fragment
  std::optional<std::uint16_t> destination_port;
  bool fragments = false;        // a protocol with ports, but the flow of its fragments
  bool has_vlan = false;         // the spec tells VLANs apart
  std::uint16_t outer_vlan = 0;  // 0: no such tag
  std::uint16_t inner_vlan = 0;
};

// `plan`: the name of the flow's plan, if it has one.
DecodedFlowKey decode(const FlowKey& key, const KeySpec& spec, const std::string& plan = {});

// One line of UTF-8, for example "10.0.0.1 → 10.0.0.2 udp 5000→53", "→ 10.0.3.0/24", "vlan 7 2001:db8::1 →".
std::string to_text(const DecodedFlowKey& key);
// Of a key with one address, without an arrow: "10.0.0.5", "vlan 7 2001:db8::1".
std::string address_text(const DecodedFlowKey& key);

}  // namespace headgate
