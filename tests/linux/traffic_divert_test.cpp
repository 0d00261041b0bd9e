#include "linux/traffic_divert.hpp"

#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#include <atomic>
#include <span>

#include "administrator.skel.h"
#include "linux/bpf_attachment.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/netlink.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/test_traffic.hpp"
#include "pipeline/virtio_header.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;

class TrafficDivertTest : public DivertTest {};

// As a host hands it to its interface, behind a virtio header.
Frame super_packet_without_tcp_header_length() {
  constexpr std::size_t kTransportAt = ETH_HLEN + 20;
  constexpr std::size_t kHeaderLengthAt = 12;
  Frame frame = PacketBuilder().ipv4(kNear4, kFar4).tcp(4000, 80).payload(5000).build();
  frame[kTransportAt + kHeaderLengthAt] = std::byte{0};
  VirtioHeader header{};
  header.flags = VirtioHeader::kNeedsChecksum;
  header.gso_type = VirtioHeader::kGsoTcp4;
  header.header_length = kTransportAt + 20;
  header.gso_size = 1000;
  header.checksum_start = kTransportAt;
  header.checksum_offset = 16;
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  frame.insert(frame.begin(), bytes, bytes + sizeof header);
  return frame;
}
INSTANTIATE_FOR_BOTH_METHODS(TrafficDivertTest);

TEST_P(TrafficDivertTest, PingPassesThroughRingAndTransmitterOnce) {
  RETURN_UNLESS_APPLICABLE();
  std::atomic<int> echo_requests{0};
  std::atomic<int> echo_requests6{0};
  LoneDivert divert(options());
  const Forwarder forwarder(divert, [&](const CapturedFrame& captured) {
    if (starts_packet(captured.frame, {.protocol = ETH_P_IP, .next_at = 9, .next = IPPROTO_ICMP}))
      ++echo_requests;
    if (starts_packet(captured.frame, {.protocol = ETH_P_IPV6, .next_at = 6, .next = IPPROTO_ICMPV6}))
      ++echo_requests6;
  });
  divert.attach();
  lab().run(std::string("ping -q -c 3 -i 0.05 -W 5 ") + kFar4 + " > /dev/null");
  lab().run(std::string("ping -q -c 3 -i 0.05 -W 5 ") + kFar6 + " > /dev/null");
  EXPECT_EQ(echo_requests, 3);
  EXPECT_EQ(echo_requests6, 3);
  EXPECT_EQ(forwarder.refused(), 0u);
  EXPECT_EQ(divert.unshaped().packets, 0u);
  EXPECT_EQ(divert.method(), GetParam());
}

TEST_P(TrafficDivertTest, NothingIsDivertedBeforeAttachAndAfterDetach) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  LoneDivert divert(options());
  Capture capture(divert);
  probe.send("before");
  EXPECT_EQ(probe.receive(kSoon), "before");
  divert.attach();
  EXPECT_TRUE(divert.attached());
  probe.send("diverted");
  EXPECT_TRUE(capture.receive(kSoon));
  divert.detach();
  EXPECT_FALSE(divert.attached());
  probe.send("after");
  EXPECT_EQ(probe.receive(kSoon), "after");
  EXPECT_FALSE(capture.receive(Duration::zero()));
  divert.attach();
  probe.send("diverted again");
  EXPECT_TRUE(capture.receive(kSoon));
}

TEST_P(TrafficDivertTest, TheStackOfThePeerNeverSeesAPacket) {
  RETURN_UNLESS_APPLICABLE();
  // Also addressed to the peer and answerable by this host: nobody may answer.
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  const auto link = *Netlink().find_link(divert.peer_index());
  RawPort port("eth0");
  port.send(PacketBuilder()
                .macs({2, 0, 0, 0, 0, 1}, link.address)
                .ipv4(kFar4, kNear4)
                .udp(4000, 1)
                .payload(32)
                .build());
  EXPECT_TRUE(capture.receive(kSoon));
  EXPECT_FALSE(RawPort(divert.device_name()).receive(milliseconds(100)));
}

TEST_P(TrafficDivertTest, ADeviceThatWasJustMadeIsSilent) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  EXPECT_FALSE(capture.receive(milliseconds(1500)));  // router solicitations would come within a second
}

TEST_P(TrafficDivertTest, OwnPacketsPassUnmarkedAndTheAdministratorsProgramsSeeEachPacketOnce) {
  RETURN_UNLESS_APPLICABLE();
  administrator_bpf* administrator = administrator_bpf::open_and_load();
  ASSERT_NE(administrator, nullptr);
  const int program = bpf_program__fd(administrator->progs.count);
  Netlink netlink;
  UdpProbe probe(lab());
  probe.send("resolves the address");
  ASSERT_TRUE(probe.receive(kSoon));
  const BpfAttachment foreign(netlink, GetParam(), interface_index("eth0"), TrafficHook::egress,
                              "administrator", program);
  {
    LoneDivert divert(options());
    const Forwarder forwarder(divert);
    divert.attach();
    const auto before = administrator->bss->packets;
    for (int i = 0; i < 10; ++i) probe.send(std::to_string(i));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(probe.receive(kSoon), std::to_string(i));
    EXPECT_GE(forwarder.captured(), 10u);
    EXPECT_EQ(administrator->bss->packets - before, 10u);
    EXPECT_EQ(administrator->bss->marked_packets, 0u);
  }
  administrator_bpf::destroy(administrator);
}

TEST_P(TrafficDivertTest, TcpSuperPacketsArriveAsWireSizedFramesWithCompleteChecksums) {
  RETURN_UNLESS_APPLICABLE();
  std::size_t longest = 0;
  std::uint64_t frames = 0;
  std::uint64_t wrong_checksums = 0;
  std::uint64_t clipped = 0;
  const std::string data = test_data(8 * 1024 * 1024);
  {
    LoneDivert divert(options());
    const Forwarder forwarder(divert, [&](const CapturedFrame& captured) {
      longest = std::max(longest, captured.frame.size());
      if (captured.frame.size() < captured.wire_length) ++clipped;
      const bool tcp =
          starts_packet(captured.frame, {.protocol = ETH_P_IP, .next_at = 9, .next = IPPROTO_TCP});
      if (tcp) ++frames;
      if (tcp && tcp_checksum_error(captured.frame) != 0) ++wrong_checksums;
    });
    divert.attach();
    EXPECT_TRUE(transfer_by_tcp(near_host(), far_host(), kFar4, data) == data);
    EXPECT_EQ(divert.unshaped().packets, 0u);
  }
  EXPECT_EQ(longest, 1514u);
  EXPECT_GE(frames, data.size() / 1448);
  EXPECT_EQ(wrong_checksums, 0u);
  EXPECT_EQ(clipped, 0u);
}

TEST_P(TrafficDivertTest, UdpSuperPacketsArriveAsSingleDatagrams) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  UdpProbe probe(lab());
  probe.send("resolves the address");
  ASSERT_TRUE(probe.receive(kSoon));
  divert.attach();
  probe.send_segmented(std::string(10'000, 'x'), 1000);
  for (int i = 0; i < 10; ++i) {
    const auto frame = capture.receive(kSoon);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->size(), 14u + 20 + 8 + 1000);
  }
  EXPECT_FALSE(capture.receive(Duration::zero()));
}

// The kernel takes the outer tag out of a frame that arrives, and leaves it in one that a packet socket sends.
TEST_P(TrafficDivertTest, VlanTagsOfWhatArrivesSurvive) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(ingress_options());
  Capture capture(divert);
  divert.attach();
  std::optional<RawPort> far;
  lab().on_far_host([&] { far.emplace("far0"); });
  far->send(PacketBuilder().vlan(0x6005).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
  EXPECT_EQ(capture.tpid, ETH_P_8021Q);
  EXPECT_EQ(capture.tci, 0x6005);

  far->send(
      PacketBuilder().vlan(7, ETH_P_8021AD).vlan(9).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.receive(kSoon),
            PacketBuilder().vlan(9).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build());
  EXPECT_EQ(capture.tpid, ETH_P_8021AD);
  EXPECT_EQ(capture.tci, 7);

  far->send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
  EXPECT_EQ(capture.tpid, 0);
}

TEST_P(TrafficDivertTest, VlanTagsOfWhatIsSentSurvive) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  RawPort near("eth0");
  for (const Frame& frame :
       {PacketBuilder().vlan(0x6005).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build(),
        PacketBuilder().vlan(7, ETH_P_8021AD).vlan(9).ipv4(kNear4, kFar4).udp(4000, 9).payload(32).build()}) {
    near.send(frame);
    EXPECT_EQ(capture.receive(kSoon), frame);
    EXPECT_EQ(capture.tpid, 0);
  }
}

TEST_P(TrafficDivertTest, WhatThePeerHasNoRoomForHasBeenCaptured) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  lab().run("ip link set " + divert.peer_name() + " mtu 100");
  RawPort near("eth0");
  const Frame large = PacketBuilder().ipv4(kNear4, kFar4).udp(4000, 9).payload(1000).build();
  for (int i = 0; i < 3; ++i) near.send(large);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(capture.receive(kSoon), large);
  EXPECT_EQ(divert.packets(), capture.counts().seen);
  EXPECT_EQ(capture.counts().lost, 0u);
}

TEST_P(TrafficDivertTest, WhatTheKernelCannotCutHasComeAndWasNotCaptured) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  Capture capture(divert);
  divert.attach();
  PacketTransmitter host(
      {.interface_index = interface_index("eth0"), .mark = 0, .prefix_bytes = sizeof(VirtioHeader)});
  const Frame frame = super_packet_without_tcp_header_length();
  const std::span<const std::byte> part(frame);
  const OutgoingFrame outgoing{{&part, 1}};
  bool sent = false;
  host.send({&outgoing, 1}, {&sent, 1});
  ASSERT_TRUE(sent);
  RawPort("eth0").send(udp_frame());
  EXPECT_EQ(capture.receive(kSoon), udp_frame());
  EXPECT_EQ(divert.packets(), capture.counts().seen + 1);
}

}  // namespace
}  // namespace headgate::test
