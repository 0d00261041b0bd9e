#include "control/flow_key_text.hpp"

#include <gtest/gtest.h>

#include "fake_daemon.hpp"

namespace headgate {
namespace {

FlowKey ipv6_key(const char* source, const char* destination) {
  FlowKey key;
  inet_pton(AF_INET6, source, key.source.data());
  inet_pton(AF_INET6, destination, key.destination.data());
  return key;
}

KeySpec source_and_destination() {
  KeySpec spec;
  spec.source_address = spec.destination_address = true;
  return spec;
}

KeySpec five_tuple() {
  KeySpec spec = source_and_destination();
  spec.ports = true;
  return spec;
}

std::string text(const FlowKey& key, const KeySpec& spec) {
  return to_text(decode(key, spec));
}

TEST(FlowKeyText, NamesThePlanWhoseMembersAreTogether) {
  FlowKey key;
  key.protocol = kProtocolOfPlans;
  key.source_port = kPortOfPlans;
  EXPECT_EQ(to_text(decode(key, source_and_destination(), "acme")), "acme");
}

TEST(FlowKeyText, ShowsAnAddressWithoutAnArrow) {
  KeySpec source, vlan;
  source.source_address = vlan.destination_address = vlan.vlan = true;
  EXPECT_EQ(address_text(decode(ipv4_key("10.0.0.1", nullptr), source)), "10.0.0.1");
  FlowKey key = ipv6_key("::", "2001:db8::1");
  key.vlan = {0, 0x70, 0};
  EXPECT_EQ(address_text(decode(key, vlan)), "vlan 7 2001:db8::1");
}

TEST(FlowKeyText, ShowsAFiveTuple) {
  EXPECT_EQ(text(ipv4_key("10.0.0.1", "10.0.0.2", 17, 5000, 53), five_tuple()),
            "10.0.0.1 → 10.0.0.2 udp 5000→53");
}

TEST(FlowKeyText, ShowsOnePortThatIsZero) {
  EXPECT_EQ(text(ipv4_key("10.0.0.1", "10.0.0.2", 6, 0, 80), five_tuple()), "10.0.0.1 → 10.0.0.2 tcp 0→80");
}

TEST(FlowKeyText, NamesTheFlowOfFragments) {
  EXPECT_EQ(text(ipv4_key("10.0.0.1", "10.0.0.2", 17), five_tuple()), "10.0.0.1 → 10.0.0.2 udp fragments");
}

TEST(FlowKeyText, ShowsProtocolsWithoutPorts) {
  EXPECT_EQ(text(ipv4_key("10.0.0.1", "10.0.0.2", 1), five_tuple()), "10.0.0.1 → 10.0.0.2 icmp");
  EXPECT_EQ(text(ipv4_key("10.0.0.1", "10.0.0.2", 253), five_tuple()), "10.0.0.1 → 10.0.0.2 protocol 253");
}

TEST(FlowKeyText, ShowsIpv6) {
  EXPECT_EQ(text(ipv6_key("2001:db8::1", "fe80::2"), source_and_destination()), "2001:db8::1 → fe80::2");
}

TEST(FlowKeyText, PointsFromASourceAndToADestination) {
  KeySpec source, destination;
  source.source_address = true;
  destination.destination_address = true;
  EXPECT_EQ(text(ipv4_key("10.0.0.1", nullptr), source), "10.0.0.1 →");
  EXPECT_EQ(text(ipv4_key(nullptr, "10.0.0.2"), destination), "→ 10.0.0.2");
}

TEST(FlowKeyText, ShowsPrefixesByFamilyAndSide) {
  KeySpec spec = source_and_destination();
  spec.source_prefix_v4 = 8;
  spec.destination_prefix_v4 = 24;
  spec.destination_prefix_v6 = 64;
  EXPECT_EQ(text(ipv4_key("10.0.0.0", "10.0.3.0"), spec), "10.0.0.0/8 → 10.0.3.0/24");
  EXPECT_EQ(text(ipv6_key("2001:db8::1", "2001:db8:0:7::"), spec), "2001:db8::1 → 2001:db8:0:7::/64");
}

TEST(FlowKeyText, ShowsMacAddresses) {
  FlowKey key;
  const std::array<std::uint8_t, 6> mac = {0x52, 0x54, 0x00, 0xab, 0xcd, 0xef};
  std::copy(mac.begin(), mac.end(), key.source.begin() + 10);
  KeySpec spec;
  spec.source_mac = true;
  EXPECT_EQ(text(key, spec), "52:54:00:ab:cd:ef →");
}

TEST(FlowKeyText, ShowsVlans) {
  KeySpec spec;
  spec.vlan = true;
  FlowKey key;
  EXPECT_EQ(text(key, spec), "untagged");
  key.vlan = {0x0a, 0xb0, 0x00};
  EXPECT_EQ(text(key, spec), "vlan 171");
  key.vlan = {0x0a, 0xbf, 0xff};
  EXPECT_EQ(text(key, spec), "vlan 171.4095");
}

TEST(FlowKeyText, PutsTheVlanFirst) {
  KeySpec spec;
  spec.vlan = spec.destination_address = true;
  FlowKey key = ipv4_key(nullptr, "10.0.0.2");
  key.vlan = {0x00, 0x70, 0x00};
  EXPECT_EQ(text(key, spec), "vlan 7 → 10.0.0.2");
}

TEST(FlowKeyText, HasAWordForTheOneFlowOfAClass) {
  EXPECT_EQ(text(FlowKey{}, KeySpec{}), "all packets");
}

}  // namespace
}  // namespace headgate
