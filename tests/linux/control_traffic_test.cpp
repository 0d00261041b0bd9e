#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <map>
#include <optional>
#include <string>

#include "linux/divert_fixture.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

class ControlTrafficTest : public DivertTest {};
INSTANTIATE_FOR_BOTH_METHODS(ControlTrafficTest);

Frame icmpv6_frame(std::uint8_t type, bool hop_by_hop) {
  PacketBuilder builder;
  builder.ipv6(kNear6, kFar6);
  if (hop_by_hop) builder.hop_by_hop_options();
  return builder.icmpv6(type).payload(24).build();
}

std::map<std::string, Frame> control_frames() {
  std::map<std::string, Frame> frames;
  for (const int type : {133, 134, 135, 136, 137}) {
    frames["ICMPv6 " + std::to_string(type)] = icmpv6_frame(static_cast<std::uint8_t>(type), false);
    frames["ICMPv6 behind options " + std::to_string(type)] =
        icmpv6_frame(static_cast<std::uint8_t>(type), true);
  }
  for (const std::uint16_t port : {67, 68})
    frames["DHCP " + std::to_string(port)] =
        PacketBuilder().ipv4("0.0.0.0", "255.255.255.255").udp(68, port).payload(64).build();
  for (const std::uint16_t port : {546, 547})
    frames["DHCPv6 " + std::to_string(port)] =
        PacketBuilder().ipv6(kNear6, kFar6).udp(546, port).payload(64).build();
  frames["DHCP in a VLAN"] =
      PacketBuilder().vlan(5).ipv4("0.0.0.0", "255.255.255.255").udp(68, 67).payload(64).build();
  return frames;
}

std::map<std::string, Frame> frames_without_ip() {
  return {{"ARP", PacketBuilder().arp(kNear4, "10.77.0.9").build()},
          {"LLDP", PacketBuilder().ether_type(0x88cc).payload(46).build()},
          {"ARP in a VLAN", PacketBuilder().vlan(5).arp(kNear4, "10.77.0.9").build()}};
}

TEST_P(ControlTrafficTest, ControlTrafficAndWhatIsNoIpIsNotDiverted) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  std::optional<RawPort> far;
  lab().on_far_host([&] { far.emplace("far0"); });
  auto frames = control_frames();
  frames.merge(frames_without_ip());
  for (const auto& [name, frame] : frames) {
    near.send(frame);
    const auto& sent = frame;
    EXPECT_TRUE(far->receive_first([&](const Frame& arrived) { return arrived == sent; })) << name;
  }
  // What was sent before this one would have been captured before it.
  near.send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
}

TEST_P(ControlTrafficTest, ControlTrafficIsDivertedWhereAClassTakesIt) {
  RETURN_UNLESS_APPLICABLE();
  DivertOptions with_control = options();
  with_control.divert_control = true;
  TrafficDivert divert(with_control);
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  for (const auto& [name, frame] : frames_without_ip()) near.send(frame);
  for (const auto& [name, frame] : control_frames()) {
    near.send(frame);
    const auto captured = capture.receive(kSoon);
    ASSERT_TRUE(captured) << name;
    EXPECT_EQ(captured->size() + (capture.tpid != 0 ? 4 : 0), frame.size()) << name;
  }
  divert.set_divert_control(false);
  near.send(control_frames().begin()->second);
  near.send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
}

TEST_P(ControlTrafficTest, WhatOnlyResemblesControlTrafficIsDiverted) {
  RETURN_UNLESS_APPLICABLE();
  TrafficDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  const std::map<std::string, Frame> frames = {
      {"ICMPv6 echo", icmpv6_frame(128, false)},
      {"multicast listener report", icmpv6_frame(143, true)},
      {"TCP to the port of DHCP", PacketBuilder().ipv4(kNear4, kFar4).tcp(4000, 67).payload(32).build()},
      {"from the port of DHCP", PacketBuilder().ipv4(kNear4, kFar4).udp(67, 4000).payload(32).build()},
      {"ICMP echo of IPv4", PacketBuilder().ipv4(kNear4, kFar4).icmp_echo().payload(32).build()},
  };
  for (const auto& [name, frame] : frames) {
    near.send(frame);
    EXPECT_EQ(capture.receive(kSoon), frame) << name;
  }
}

}  // namespace
}  // namespace headgate::test
