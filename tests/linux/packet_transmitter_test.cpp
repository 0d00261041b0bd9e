#include "linux/packet_transmitter.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <array>
#include <chrono>
#include <memory>
#include <system_error>

#include "administrator.skel.h"
#include "linux/bpf_attachment.hpp"
#include "linux/netlink.hpp"
#include "linux/network_lab.hpp"
#include "pipeline/frame_prefix.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

constexpr std::uint32_t kMark = 0x68670000;

Frame numbered_frame(std::uint8_t number, std::size_t payload = 64) {
  return PacketBuilder().ipv4(kNear4, kFar4).udp(4000, 9).payload(payload, number).build();
}

// Sends whole frames and says of each whether it was sent.
std::vector<bool> send(PacketTransmitter& transmitter, const std::vector<Frame>& frames) {
  std::vector<std::span<const std::byte>> parts(frames.begin(), frames.end());
  std::vector<OutgoingFrame> outgoing;
  for (const auto& part : parts) outgoing.push_back({{&part, 1}});
  const std::unique_ptr<bool[]> sent(new bool[frames.size()]());
  transmitter.send(outgoing, {sent.get(), frames.size()});
  return std::vector<bool>(sent.get(), sent.get() + frames.size());
}

class PacketTransmitterTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped()) return;
    lab().on_far_host([this] { far_.emplace("far0"); });
  }

  static PacketTransmitterOptions options(bool qdisc_bypass = false) {
    return {.interface_index = interface_index("eth0"), .mark = kMark, .qdisc_bypass = qdisc_bypass};
  }

  // True when the frame arrives at the far host; what arrives before it is passed over.
  bool arrives(const Frame& frame) {
    return far_->receive_first([&](const Frame& arrived) { return arrived == frame; }).has_value();
  }

 private:
  std::optional<RawPort> far_;
};

TEST_F(PacketTransmitterTest, SendsABatchInOrder) {
  PacketTransmitter transmitter(options());
  std::vector<Frame> frames;
  for (int i = 0; i < 1000; ++i) frames.push_back(numbered_frame(static_cast<std::uint8_t>(i)));
  EXPECT_EQ(send(transmitter, frames), std::vector<bool>(1000, true));
  for (const Frame& frame : frames) ASSERT_TRUE(arrives(frame));
}

TEST_F(PacketTransmitterTest, JoinsTheParts) {
  PacketTransmitter transmitter(options());
  const Frame frame = numbered_frame(1, 1400);
  std::vector<std::span<const std::byte>> parts;
  for (std::size_t at = 0; at < frame.size(); at += 5)
    parts.push_back(std::span(frame).subspan(at, std::min<std::size_t>(5, frame.size() - at)));
  // Several of them, so that they do not fit into one system call.
  const std::vector<OutgoingFrame> outgoing(40, OutgoingFrame{parts});
  std::array<bool, 40> sent{};
  transmitter.send(outgoing, sent);
  for (const bool one : sent) {
    EXPECT_TRUE(one);
    EXPECT_TRUE(arrives(frame));
  }
}

TEST_F(PacketTransmitterTest, AFrameThatIsTooLongIsGivenUpAlone) {
  PacketTransmitter transmitter(options());
  EXPECT_EQ(send(transmitter, {numbered_frame(1), numbered_frame(2, 1600), numbered_frame(3)}),
            (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(arrives(numbered_frame(1)));
  EXPECT_TRUE(arrives(numbered_frame(3)));
}

TEST_F(PacketTransmitterTest, ADeviceThatIsDownOrGoneIsNoErrorButNothingIsSent) {
  PacketTransmitter transmitter(options());
  lab().run("ip link set eth0 down");
  EXPECT_EQ(send(transmitter, {numbered_frame(1), numbered_frame(2)}), std::vector<bool>(2, false));
  lab().run("ip link set eth0 up");
  wait_until_running("eth0");
  EXPECT_EQ(send(transmitter, {numbered_frame(3)}), std::vector<bool>{true});
  EXPECT_TRUE(arrives(numbered_frame(3)));
  lab().run("ip link del eth0");
  EXPECT_EQ(send(transmitter, {numbered_frame(4)}), std::vector<bool>{false});
}

// A qdisc that lets three frames through at once and then one in some minutes.
constexpr char kTightQdisc[] = "tc qdisc replace dev eth0 root tbf rate 8bit burst 2000 limit 400";

TEST_F(PacketTransmitterTest, WhatAFullQdiscRefusesIsGivenUpAtOnce) {
  lab().run(kTightQdisc);
  PacketTransmitter transmitter(options());
  const auto sent = send(transmitter, std::vector<Frame>(100, numbered_frame(1, 158)));
  EXPECT_TRUE(sent.front());
  EXPECT_FALSE(sent.back());
  // Each was tried once; the host's own packets are refused, too.
  const auto refused = std::to_string(std::count(sent.begin(), sent.end(), false));
  lab().run(
      "dropped=$(tc -s qdisc show dev eth0 | sed -n 's/.*dropped \\([0-9]*\\),.*/\\1/p' | head -n 1); "
      "test \"$dropped\" -ge " +
      refused + " && test \"$dropped\" -lt $((" + refused + " + 20))");
}

TEST_F(PacketTransmitterTest, WhatAProgramRefusesIsTriedOnceAmongOthersThatPass) {
  administrator_bpf* const administrator = administrator_bpf::open_and_load();
  ASSERT_NE(administrator, nullptr);
  {
    Netlink netlink;
    const BpfAttachment attachment(netlink, DivertMethod::clsact, interface_index("eth0"),
                                   TrafficHook::egress, "administrator",
                                   bpf_program__fd(administrator->progs.refuse_odd));
    PacketTransmitter transmitter(options());
    std::vector<Frame> frames;
    for (int i = 0; i < 100; ++i) frames.push_back(numbered_frame(static_cast<std::uint8_t>(i)));
    const std::vector<bool> sent = send(transmitter, frames);
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(sent[i], i % 2 == 0) << i;
    EXPECT_EQ(administrator->bss->tries, 100u);
  }
  administrator_bpf::destroy(administrator);
}

TEST_F(PacketTransmitterTest, ADeepQdiscDoesNotUseUpTheSocketsBuffer) {
  // The qdisc keeps what it gets, so that its packets stay on the socket's account.
  lab().run("tc qdisc replace dev eth0 root tbf rate 8bit burst 2000 limit 1gb");
  PacketTransmitter transmitter(options());
  const std::vector<Frame> frames(1000, numbered_frame(1, 1400));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(send(transmitter, frames), std::vector<bool>(1000, true)) << i;
}

TEST_F(PacketTransmitterTest, GoesRoundTheQdiscWhereAsked) {
  lab().run(kTightQdisc);
  PacketTransmitter transmitter(options(true));
  const std::vector<Frame> frames(100, numbered_frame(1, 158));
  EXPECT_EQ(send(transmitter, frames), std::vector<bool>(100, true));
  for (const Frame& frame : frames) ASSERT_TRUE(arrives(frame));
  transmitter.set_qdisc_bypass(false);
  EXPECT_FALSE(send(transmitter, frames).back());
}

// However the frame is divided.
TEST_F(PacketTransmitterTest, ALinkWithoutEthernetHeaderGetsBareIpPacketsAndCompletesThem) {
  const FileDescriptor tun(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  ifreq request{};
  std::strcpy(request.ifr_name, "tun7");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  ASSERT_EQ(ioctl(tun.get(), TUNSETIFF, &request), 0);
  lab().run("sysctl -qw net.ipv6.conf.tun7.disable_ipv6=1 && ip link set tun7 up");
  PacketTransmitter transmitter({.interface_index = interface_index("tun7"),
                                 .mark = kMark,
                                 .prefix_bytes = kWholePrefixBytes,
                                 .link_header = LinkHeader::none});
  for (const bool ipv4 : {true, false}) {
    const auto addressed = ipv4 ? PacketBuilder().ipv4(kNear4, kFar4) : PacketBuilder().ipv6(kNear6, kFar6);
    const Frame frame = PacketBuilder(addressed).udp(4000, 9).payload(64, 5).build();
    const std::size_t transport = ipv4 ? 34 : 54;
    // Its sum is the kernel's to finish, of what stands there now.
    const VirtioHeader virtio{.flags = VirtioHeader::kNeedsChecksum,
                              .checksum_start = static_cast<std::uint16_t>(transport),
                              .checksum_offset = 6};
    Frame whole(kWholePrefixBytes);
    std::memcpy(whole.data() + sizeof(PacketNotes), &virtio, sizeof virtio);
    whole.insert(whole.end(), frame.begin(), frame.end());
    for (std::size_t first = kWholePrefixBytes; first < whole.size(); ++first) {
      const std::array<std::span<const std::byte>, 2> parts{std::span(whole).first(first),
                                                            std::span(whole).subspan(first)};
      const OutgoingFrame outgoing{parts};
      bool sent = false;
      transmitter.send({&outgoing, 1}, {&sent, 1});
      ASSERT_TRUE(sent) << first;
      Frame came(2000);
      came.resize(static_cast<std::size_t>(read(tun.get(), came.data(), came.size())));
      Frame expected(frame.begin() + 14, frame.end());
      ASSERT_EQ(came.size(), expected.size());
      // The finished sum is another one, and all the rest the same.
      EXPECT_NE(std::memcmp(&came[transport - 14 + 6], &expected[transport - 14 + 6], 2), 0);
      std::memcpy(&came[transport - 14 + 6], &expected[transport - 14 + 6], 2);
      EXPECT_EQ(came, expected) << first;
    }
  }
}

TEST_F(PacketTransmitterTest, AnInterfaceThatDoesNotExistIsRefused) {
  PacketTransmitterOptions none = options();
  none.interface_index = 4711;
  EXPECT_THROW(PacketTransmitter transmitter(none), std::system_error);
}

}  // namespace
}  // namespace headgate::test
