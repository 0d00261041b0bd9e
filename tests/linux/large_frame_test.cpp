// Frames up to the largest MTU, and such as a VLAN device sends above the MTU: none is clipped or refused.
#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <algorithm>
#include <atomic>

#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/packet_transmitter.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

class LargeFrameTest : public DivertTest {
 protected:
  void set_mtu(unsigned mtu) {
    lab().run("ip link set eth0 mtu " + std::to_string(mtu));
    lab().on_far_host([&] { lab().run("ip link set far0 mtu " + std::to_string(mtu)); });
  }
  std::optional<RawPort> far_port() {
    std::optional<RawPort> port;
    lab().on_far_host([&] { port.emplace("far0"); });
    return port;
  }
};
INSTANTIATE_FOR_BOTH_METHODS(LargeFrameTest);

PacketBuilder udp(PacketBuilder builder) {
  return builder.ipv4(kNear4, kFar4).udp(4000, 9);
}

TEST_P(LargeFrameTest, EveryMtuUpToTheLargestPassesUnclippedInBothDirections) {
  RETURN_UNLESS_APPLICABLE();
  for (const unsigned mtu : {68U, 576U, 1280U, 9000U, 16'000U, 65'535U}) {
    set_mtu(mtu);
    std::atomic<int> clipped{0};
    const auto observe = [&](const CapturedFrame& captured) {
      if (captured.frame.size() < captured.wire_length) ++clipped;
    };
    LoneDivert egress(options());
    LoneDivert ingress(ingress_options());
    const Forwarder there(egress, observe);
    const Forwarder back(ingress, observe);
    egress.attach();
    ingress.attach();
    RawPort near("eth0");
    auto far = far_port();
    const Frame frame = udp(PacketBuilder()).frame_size(ETH_HLEN + mtu).build();
    near.send(frame);
    EXPECT_TRUE(far->receive_first([&](const Frame& one) { return one == frame; })) << mtu;
    const Frame answer = PacketBuilder().ipv4(kFar4, kNear4).udp(9, 4000).frame_size(ETH_HLEN + mtu).build();
    far->send(answer);
    for (int i = 0; i < 2; ++i)  // before and behind the divert
      EXPECT_TRUE(near.receive_first([&](const Frame& one) { return one == answer; })) << mtu;
    EXPECT_EQ(clipped, 0);
    EXPECT_EQ(there.refused() + back.refused(), 0u);
  }
}

TEST_P(LargeFrameTest, TcpWithTheLargestMtuArrivesWhole) {
  RETURN_UNLESS_APPLICABLE();
  set_mtu(65'535);
  const std::string data = test_data(16 * 1024 * 1024);
  LoneDivert egress(options());
  LoneDivert ingress(ingress_options());
  const Forwarder there(egress);
  const Forwarder back(ingress);
  egress.attach();
  ingress.attach();
  EXPECT_TRUE(transfer_by_tcp(near_host(), far_host(), kFar4, data) == data);
  EXPECT_TRUE(transfer_by_tcp(far_host(), near_host(), kNear4, data) == data);
}

TEST_P(LargeFrameTest, AFullPacketBehindTagsLeavesAsItWasSent) {
  RETURN_UNLESS_APPLICABLE();
  lab().on_far_host([this] { lab().run("ip link set far0 mtu 1508"); });
  LoneDivert divert(options());  // knows the MTU of 1500
  PacketTransmitter transmitter({.interface_index = divert.transmit_index(),
                                 .mark = Forwarder::kMark,
                                 .detour_index = divert.peer_index(),
                                 .mtu = divert.transmit_mtu()});
  divert.attach();
  auto far = far_port();
  const auto send = [&](const Frame& frame) {
    const std::span<const std::byte> part(frame);
    const OutgoingFrame outgoing{{&part, 1}};
    bool sent = false;
    transmitter.send({&outgoing, 1}, {&sent, 1});
    return sent;
  };
  for (const bool bypass : {false, true}) {
    transmitter.set_qdisc_bypass(bypass);
    for (const Frame& frame : {udp(PacketBuilder().vlan(5)).frame_size(1518).build(),
                               udp(PacketBuilder().vlan(5, ETH_P_8021AD)).frame_size(1518).build(),
                               udp(PacketBuilder().vlan(5, ETH_P_8021AD).vlan(6)).frame_size(1522).build()}) {
      EXPECT_TRUE(send(frame));
      EXPECT_TRUE(far->receive_first([&](const Frame& one) { return one == frame; })) << frame.size();
    }
  }
  EXPECT_FALSE(send(udp(PacketBuilder()).frame_size(1518).build())) << "above the MTU without a tag";
  EXPECT_FALSE(send(udp(PacketBuilder().vlan(5, ETH_P_8021AD)).frame_size(1522).build()));
}

}  // namespace
}  // namespace headgate::test
