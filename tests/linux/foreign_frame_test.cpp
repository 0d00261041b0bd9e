#include <gtest/gtest.h>

#include <optional>

#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/netlink.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;

// Frames of other programs on the divert device and its peer.
class ForeignFrameTest : public DivertTest {
 protected:
  // False: the kernel refused it, as it does what a program drops on its way out.
  static bool send(const std::string& device, const Frame& frame) {
    try {
      RawPort(device).send(frame);
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  static bool arrives(RawPort& port) {
    const auto is_foreign = [](const Frame& frame) { return frame == foreign_frame(); };
    return port.receive_first(is_foreign, milliseconds(100)).has_value();
  }

  static Frame foreign_frame() {
    return PacketBuilder().ipv4(kNear4, kFar4).udp(4001, 9).payload(32).build();
  }

  // Sends by hand on both ends, and sees that neither is captured, nor leaves, nor arrives, and that both are counted.
  void expect_nothing_leaves(const LoneOptions& options, const Host& outside,
                             const std::string& outside_device) {
    LoneDivert divert(options);
    const Forwarder forwarder(divert);
    divert.attach();
    std::optional<RawPort> out;
    outside([&] { out.emplace(outside_device); });
    RawPort in("eth0");
    EXPECT_FALSE(send(divert.device_name(), foreign_frame()));
    EXPECT_FALSE(send(divert.peer_name(), foreign_frame()));
    EXPECT_FALSE(arrives(*out));
    EXPECT_FALSE(arrives(in));
    EXPECT_EQ(divert.counts().foreign, (Count{2, 2 * foreign_frame().size()}));
    EXPECT_EQ(divert.packets(), forwarder.captured()) << "none is taken for lost";
  }
};
INSTANTIATE_FOR_BOTH_METHODS(ForeignFrameTest);

TEST_P(ForeignFrameTest, WhatOthersSendOnTheDivertDeviceOfAnEgressShapeDoesNotLeave) {
  RETURN_UNLESS_APPLICABLE();
  expect_nothing_leaves(options(), far_host(), "far0");
}

TEST_P(ForeignFrameTest, WhatOthersSendOnTheDivertDeviceOfAnIngressShapeDoesNotArrive) {
  RETURN_UNLESS_APPLICABLE();
  expect_nothing_leaves(ingress_options(), far_host(), "far0");
}

TEST_P(ForeignFrameTest, WhatOthersSendOnTheDivertDeviceOfAWireDoesNotComeOut) {
  RETURN_UNLESS_APPLICABLE();
  lab().put_near_host_in_between();
  expect_nothing_leaves(inline_options("eth0", "eth1"), opposite_host(), "opposite0");
}

}  // namespace
}  // namespace headgate::test
