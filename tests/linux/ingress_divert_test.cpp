#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#include <atomic>
#include <map>

#include "linux/child_process.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/netlink.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;

class IngressDivertTest : public DivertTest {
 protected:
  RawPort far_port() {
    std::optional<RawPort> port;
    lab().on_far_host([&] { port.emplace("far0"); });
    return std::move(*port);
  }
};
INSTANTIATE_FOR_BOTH_METHODS(IngressDivertTest);

bool is_echo(std::span<const std::byte> frame) {
  return starts_packet(frame, {.protocol = ETH_P_IP, .next_at = 9, .next = IPPROTO_ICMP});
}
bool is_echo6(std::span<const std::byte> frame) {
  return starts_packet(frame, {.protocol = ETH_P_IPV6, .next_at = 6, .next = IPPROTO_ICMPV6});
}

Frame numbered_frame(std::uint8_t number) {
  return PacketBuilder().ipv4(kFar4, kNear4).udp(4000, 9).payload(32, number).build();
}

void ping(const NetworkLab& lab, const char* address) {
  lab.run(std::string("ping -q -c 3 -i 0.05 -W 5 ") + address + " > /dev/null");
}

// How often the frame comes in at the port until another comes that was sent after it.
int arrivals(RawPort& port, const Frame& wanted, const Frame& last, int last_arrivals) {
  int count = 0;
  int seen = 0;
  port.receive_first([&](const Frame& frame) {
    if (frame == wanted) ++count;
    if (frame == last) ++seen;
    return seen == last_arrivals;
  });
  return count;
}

TEST_P(IngressDivertTest, WhatArrivesPassesThroughRingAndTransmitterOnce) {
  RETURN_UNLESS_APPLICABLE();
  std::atomic<int> replies{0};
  std::atomic<int> replies6{0};
  LoneDivert divert(ingress_options());
  const Forwarder forwarder(divert, [&](const CapturedFrame& captured) {
    if (is_echo(captured.frame)) ++replies;
    if (is_echo6(captured.frame)) ++replies6;
  });
  divert.attach();
  ping(lab(), kFar4);
  ping(lab(), kFar6);
  EXPECT_EQ(replies, 3);
  EXPECT_EQ(replies6, 3);
  EXPECT_EQ(forwarder.refused(), 0u);
  EXPECT_EQ(divert.unshaped().packets, 0u);
  EXPECT_TRUE(divert.in_place());
}

TEST_P(IngressDivertTest, TheStackSeesNoPacketBeforeItIsSentOn) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(ingress_options());
  Capture capture(divert);
  RawPort near("eth0");
  RawPort far = far_port();
  divert.attach();
  far.send(numbered_frame(1));
  EXPECT_EQ(capture.receive(kSoon), numbered_frame(1));
  PacketTransmitter transmitter({.interface_index = divert.transmit_index(), .mark = Forwarder::kMark});
  const Frame frame = numbered_frame(2);
  const std::span<const std::byte> part(frame);
  const OutgoingFrame outgoing{{&part, 1}};
  bool sent = false;
  transmitter.send({&outgoing, 1}, {&sent, 1});
  EXPECT_TRUE(sent);
  // A packet socket sees what arrives before it is diverted, and again when it is sent on.
  EXPECT_EQ(arrivals(near, numbered_frame(1), numbered_frame(2), 1), 1);
  EXPECT_FALSE(capture.receive(Duration::zero())) << "what is sent on must not be diverted again";
}

TEST_P(IngressDivertTest, VlanTagsSurviveTheWayThere) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(ingress_options());
  Capture capture(divert);
  RawPort far = far_port();
  divert.attach();
  far.send(
      PacketBuilder().vlan(7, ETH_P_8021AD).vlan(9).ipv4(kFar4, kNear4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.receive(kSoon),
            PacketBuilder().vlan(9).ipv4(kFar4, kNear4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.tpid, ETH_P_8021AD);
  EXPECT_EQ(capture.tci, 7);
}

TEST_P(IngressDivertTest, VlanTagsSurviveTheWayBackAtEverySize) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(ingress_options());
  // A veth device takes no two tags above its MTU, as a network card does.
  lab().run("ip link set eth0 mtu 1508");
  lab().on_far_host([this] { lab().run("ip link set far0 mtu 1508"); });
  const Forwarder forwarder(divert);
  divert.attach();
  RawPort near("eth0");
  RawPort far = far_port();
  const Frame last = numbered_frame(99);
  const auto with_ip = [](PacketBuilder builder, std::size_t size) {
    return builder.ipv4(kFar4, kNear4).udp(4000, 9).frame_size(size).build();
  };
  for (const std::size_t size : {60, 1000, 1514}) {
    const std::vector<Frame> frames = {with_ip(PacketBuilder(), size),
                                       with_ip(PacketBuilder().vlan(0x6005), size + 4),
                                       with_ip(PacketBuilder().vlan(7, ETH_P_8021AD), size + 4),
                                       with_ip(PacketBuilder().vlan(7, ETH_P_8021AD).vlan(9), size + 8)};
    for (const Frame& frame : frames) {
      far.send(frame);
      far.send(last);
      EXPECT_EQ(arrivals(near, frame, last, 2), 2) << size << " bytes, frame of " << frame.size();
    }
  }
  EXPECT_EQ(forwarder.refused(), 0u);
}

TEST_P(IngressDivertTest, WhatIsNoIpAndControlTrafficIsNotDiverted) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(ingress_options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  RawPort far = far_port();
  const std::map<std::string, Frame> frames = {
      {"ARP", PacketBuilder().arp(kFar4, "10.77.0.9").build()},
      {"LLDP", PacketBuilder().ether_type(0x88cc).payload(46).build()},
      {"ARP in a VLAN", PacketBuilder().vlan(5).arp(kFar4, "10.77.0.9").build()},
      {"DHCP", PacketBuilder().ipv4("0.0.0.0", "255.255.255.255").udp(67, 68).payload(64).build()},
      {"DHCPv6", PacketBuilder().ipv6(kFar6, kNear6).udp(547, 546).payload(64).build()},
      {"neighbour advertisement", PacketBuilder().ipv6(kFar6, kNear6).icmpv6(136).payload(24).build()}};
  for (const auto& [name, frame] : frames) {
    far.send(frame);
    const auto& sent = frame;
    EXPECT_TRUE(near.receive_first([&](const Frame& arrived) { return arrived == sent; })) << name;
  }
  // What was sent before this one would have been captured before it.
  far.send(numbered_frame(1));
  EXPECT_EQ(capture.receive(kSoon), numbered_frame(1));
}

TEST_P(IngressDivertTest, TcpSuperPacketsArriveAsWireSizedFramesWithCompleteChecksums) {
  RETURN_UNLESS_APPLICABLE();
  std::size_t longest = 0;
  std::uint64_t frames = 0;
  std::uint64_t wrong_checksums = 0;
  const std::string data = test_data(8 * 1024 * 1024);
  {
    LoneDivert divert(ingress_options());
    const Forwarder forwarder(divert, [&](const CapturedFrame& captured) {
      longest = std::max<std::size_t>(longest, captured.wire_length);
      if (!is_tcp_over_ipv4(captured.frame)) return;
      ++frames;
      if (tcp_checksum_error(captured.frame) != 0) ++wrong_checksums;
    });
    divert.attach();
    EXPECT_TRUE(transfer_by_tcp(far_host(), near_host(), kNear4, data) == data);
    EXPECT_EQ(divert.unshaped().packets, 0u);
    EXPECT_EQ(forwarder.refused(), 0u);
  }
  EXPECT_EQ(longest, 1514u);
  EXPECT_GE(frames, data.size() / 1448);
  EXPECT_EQ(wrong_checksums, 0u);
}

TEST_P(IngressDivertTest, BothDirectionsOfAnInterfaceDoNotTakeEachOthersPackets) {
  RETURN_UNLESS_APPLICABLE();
  std::atomic<int> requests{0};
  std::atomic<int> replies{0};
  LoneDivert egress(options());
  LoneDivert ingress(ingress_options());
  const Forwarder there(egress, [&](const CapturedFrame& captured) {
    if (is_echo(captured.frame)) ++requests;
  });
  const Forwarder back(ingress, [&](const CapturedFrame& captured) {
    if (is_echo(captured.frame)) ++replies;
  });
  egress.attach();
  ingress.attach();
  ping(lab(), kFar4);
  EXPECT_EQ(requests, 3);
  EXPECT_EQ(replies, 3);
  const std::string data = test_data(2 * 1024 * 1024);
  EXPECT_TRUE(transfer_by_tcp(near_host(), far_host(), kFar4, data) == data);
  EXPECT_TRUE(transfer_by_tcp(far_host(), near_host(), kNear4, data) == data);
  EXPECT_EQ(egress.unshaped().packets + ingress.unshaped().packets, 0u);
  egress.detach();
  ping(lab(), kFar4);
  EXPECT_EQ(requests, 3);
  EXPECT_EQ(replies, 6);
}

TEST_P(IngressDivertTest, AKilledOrUnreadDivertLetsEverythingArrive) {
  RETURN_UNLESS_APPLICABLE();
  const LoneOptions options = ingress_options();
  ChildProcess daemon([options] { (new LoneDivert(options))->attach(); });
  // Unread: the dead-man switch opens within half a second.
  lab().run(std::string("ping -q -c 1 -W 5 -i 0.05 -w 3 ") + kFar4 + " > /dev/null");
  daemon.kill_now();
  ping(lab(), kFar4);
  EXPECT_EQ(TrafficDivert::sweep().back(), "removed divert device hg0 (headgate ingress of eth0)");
  ping(lab(), kFar4);
  EXPECT_THAT(names_of_links(), testing::UnorderedElementsAre("lo", "eth0"));
}

TEST_P(IngressDivertTest, WithoutADivertWhatIsSentOnCarriesNoMark) {
  RETURN_UNLESS_APPLICABLE();
  // Marked packets would be dropped, also by a rule that the administrator has for the mark.
  LoneDivert divert(ingress_options());
  const Forwarder forwarder(divert);
  divert.attach();
  lab().run("ip rule add fwmark 0x68670000 prohibit && ip -6 rule add fwmark 0x68670000 prohibit");
  ping(lab(), kFar4);
  ping(lab(), kFar6);
}

}  // namespace
}  // namespace headgate::test
