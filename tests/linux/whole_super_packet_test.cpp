#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/link_offloads.hpp"
#include "linux/packet_transmitter.hpp"
#include "pipeline/virtio_header.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

class WholeSuperPacketTest : public DivertTest {
 protected:
  static LoneOptions whole(LoneOptions options) {
    options.whole_super_packets = true;
    return options;
  }
};
INSTANTIATE_FOR_BOTH_METHODS(WholeSuperPacketTest);

// What a forwarder saw.
struct Seen {
  std::atomic<std::size_t> longest{0};
  std::atomic<int> clipped{0};

  Forwarder::Observer observer() {
    return [this](const CapturedFrame& captured) {
      longest = std::max<std::size_t>(longest, captured.wire_length);
      if (captured.frame.size() < captured.wire_length) ++clipped;
    };
  }
  void expect_whole_super_packets() const {
    EXPECT_GT(longest, 10'000u);
    EXPECT_EQ(clipped, 0);
  }
};

constexpr std::size_t kTransfer = 16 * 1024 * 1024;

TEST_P(WholeSuperPacketTest, TcpPassesWholeAndUnclipped) {
  RETURN_UNLESS_APPLICABLE();
  const std::string data = test_data(kTransfer);
  Seen seen;
  LoneDivert divert(whole(options()));
  const Forwarder forwarder(divert, seen.observer(), true);
  divert.attach();
  EXPECT_TRUE(transfer_by_tcp(near_host(), far_host(), kFar4, data) == data);
  seen.expect_whole_super_packets();
  EXPECT_EQ(forwarder.refused(), 0u);
  EXPECT_EQ(divert.unshaped().packets, 0u);
}

TEST_P(WholeSuperPacketTest, AnInterfaceThatCanNeitherSegmentNorSumGetsRightPacketsFromTheKernel) {
  RETURN_UNLESS_APPLICABLE();
  // The far stack checks the sums then: wrong ones would end the transfer.
  const std::string data = test_data(kTransfer);
  Seen seen;
  LoneDivert divert(whole(options()));
  turn_off_segmentation_and_checksum_offload("eth0");
  lab().run("ip link set eth0 gso_max_size 65536");
  const Forwarder forwarder(divert, seen.observer(), true);
  divert.attach();
  EXPECT_TRUE(transfer_by_tcp(near_host(), far_host(), kFar4, data) == data);
  EXPECT_EQ(seen.clipped, 0);
  EXPECT_EQ(forwarder.refused(), 0u);
}

TEST_P(WholeSuperPacketTest, TcpThatArrivesPassesWhole) {
  RETURN_UNLESS_APPLICABLE();
  const std::string data = test_data(kTransfer);
  Seen seen;
  LoneDivert divert(whole(ingress_options()));
  const Forwarder forwarder(divert, seen.observer(), true);
  divert.attach();
  EXPECT_TRUE(transfer_by_tcp(far_host(), near_host(), kNear4, data) == data);
  seen.expect_whole_super_packets();
  EXPECT_EQ(forwarder.refused(), 0u);
}

TEST_P(WholeSuperPacketTest, TcpPassesWholeThroughTheWire) {
  RETURN_UNLESS_APPLICABLE();
  lab().put_near_host_in_between();
  const std::string data = test_data(kTransfer);
  Seen seen;
  LoneDivert there(whole(inline_options("eth1", "eth0")));
  LoneDivert back(whole(inline_options("eth0", "eth1")));
  const Forwarder there_forwarder(there, seen.observer(), true);
  const Forwarder back_forwarder(back, nullptr, true);
  there.attach();
  back.attach();
  EXPECT_TRUE(transfer_by_tcp(opposite_host(), far_host(), kFar4, data) == data);
  seen.expect_whole_super_packets();
  EXPECT_EQ(there_forwarder.refused(), 0u);
}

// A tagged TCP super-packet with `payload` bytes behind its virtio header, as a host hands it to its interface.
Frame super_packet(std::uint16_t tci, std::size_t payload, std::uint16_t segment_bytes) {
  const auto build = [&](PacketBuilder builder) {
    return builder.ipv4(kNear4, kFar4).tcp(4000, 80).payload(payload).build();
  };
  const std::uint16_t sum = htons(tcp_pseudo_header_sum(build(PacketBuilder())));
  Frame frame = build(PacketBuilder().vlan(tci));
  constexpr std::size_t kTransportAt = ETH_HLEN + 4 + 20;
  constexpr std::size_t kSumAt = 16;
  std::memcpy(frame.data() + kTransportAt + kSumAt, &sum, sizeof sum);
  VirtioHeader header{};
  header.flags = VirtioHeader::kNeedsChecksum;
  header.gso_type = VirtioHeader::kGsoTcp4;
  header.header_length = kTransportAt + 20;
  header.gso_size = segment_bytes;
  header.checksum_start = kTransportAt;
  header.checksum_offset = kSumAt;
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  frame.insert(frame.begin(), bytes, bytes + sizeof header);
  return frame;
}

Frame without_tag(Frame frame) {
  frame.erase(frame.begin() + 12, frame.begin() + 16);
  return frame;
}

// Sends it on an interface of this host, which it has room for.
void send_super_packet(const std::string& interface, const Frame& frame) {
  PacketTransmitter host(
      {.interface_index = interface_index(interface), .mark = 0, .prefix_bytes = sizeof(VirtioHeader)});
  const std::span<const std::byte> part(frame);
  const OutgoingFrame outgoing{{&part, 1}};
  bool sent = false;
  host.send({&outgoing, 1}, {&sent, 1});
  ASSERT_TRUE(sent);
}

// What super_packet(5, 5000, 1000) becomes.
void expect_five_tagged_segments(RawPort& far) {
  for (int i = 0; i < 5; ++i) {
    const auto arrived = far.receive_first(
        [](const Frame& one) { return one.size() > 100 && is_tcp_over_ipv4(without_tag(one)); });
    ASSERT_TRUE(arrived);
    EXPECT_EQ(arrived->size(), 14u + 4 + 20 + 20 + 1000);
    EXPECT_EQ((*arrived)[13], std::byte{0});
    EXPECT_EQ((*arrived)[15], std::byte{5});
    EXPECT_EQ(tcp_checksum_error(without_tag(*arrived)), 0);
  }
}

TEST_P(WholeSuperPacketTest, ATaggedSuperPacketIsCutBehindItsTagWithRightChecksums) {
  RETURN_UNLESS_APPLICABLE();
  Seen seen;
  LoneDivert divert(whole(options()));
  turn_off_segmentation_and_checksum_offload("eth0");
  const Forwarder forwarder(divert, seen.observer(), true);
  divert.attach();
  std::optional<RawPort> far;
  lab().on_far_host([&] { far.emplace("far0"); });
  send_super_packet("eth0", super_packet(5, 5000, 1000));
  expect_five_tagged_segments(*far);
  EXPECT_EQ(forwarder.refused(), 0u);
}

// The kernel takes the tag out of what arrives.
TEST_P(WholeSuperPacketTest, ATaggedSuperPacketThatArrivesIsCutSoToo) {
  RETURN_UNLESS_APPLICABLE();
  lab().put_near_host_in_between();
  std::atomic<int> tag_beside{0};
  LoneDivert divert(whole(inline_options("eth1", "eth0")));
  turn_off_segmentation_and_checksum_offload("eth0");
  const Forwarder forwarder(
      divert,
      [&](const CapturedFrame& captured) {
        if (captured.wire_length > 5000 && captured.vlan_tpid == ETH_P_8021Q) tag_beside = captured.vlan_tci;
      },
      true);
  divert.attach();
  std::optional<RawPort> far;
  lab().on_far_host([&] { far.emplace("far0"); });
  lab().on_opposite_host([] { send_super_packet("opposite0", super_packet(5, 5000, 1000)); });
  expect_five_tagged_segments(*far);
  EXPECT_EQ(tag_beside, 5);
  EXPECT_EQ(forwarder.refused(), 0u);
}

TEST_P(WholeSuperPacketTest, UdpAndPlainPacketsPassToo) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  LoneDivert divert(whole(options()));
  const Forwarder forwarder(divert, nullptr, true);
  divert.attach();
  probe.send("plain");
  EXPECT_EQ(probe.receive(kSoon), "plain");
  const std::string data = test_data(10'000);
  probe.send_segmented(data, 1000);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(probe.receive(kSoon), data.substr(i * 1000, 1000));
  lab().run(std::string("ping -q -c 3 -i 0.05 -W 5 -s 4000 ") + kFar4 + " > /dev/null");
  lab().run(std::string("ping -q -c 3 -i 0.05 -W 5 ") + kFar6 + " > /dev/null");
  EXPECT_EQ(forwarder.refused(), 0u);
}

}  // namespace
}  // namespace headgate::test
