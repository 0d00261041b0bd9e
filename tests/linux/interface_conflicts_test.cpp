#include "linux/interface_conflicts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linux/divert_fixture.hpp"
#include "linux/network_lab.hpp"

namespace headgate::test {
namespace {

ShapeConfig shape(const std::string& interface, const std::string& forward_to = "",
                  Direction direction = Direction::egress) {
  ShapeConfig config;
  config.interface = interface;
  config.forward_to = forward_to;
  config.direction = forward_to.empty() ? direction : Direction::ingress;
  return config;
}

class InterfaceConflictsTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (IsSkipped()) return;
    lab().run("ip link add eth1 type veth peer name eth2");
    lab().run("ip link property add dev eth0 altname wan0 altname uplink");
    lab().run("ip link property add dev eth1 altname lan0");
  }
  static std::string refusal(const std::vector<ShapeConfig>& shapes) {
    Netlink netlink;
    return message_of([&] { refuse_interface_conflicts(netlink, shapes); });
  }
};

TEST_F(InterfaceConflictsTest, OneInterfaceByTwoNamesInOneDirection) {
  EXPECT_EQ(refusal({shape("eth0"), shape("eth1"), shape("wan0")}),
            "interface: \"eth0\" and \"wan0\" are names of the same interface, whose egress is shaped twice: "
            "expected its classes in one [[shape]]");
  EXPECT_EQ(
      refusal({shape("uplink", "", Direction::ingress), shape("wan0", "eth1")}),
      "interface: \"uplink\" and \"wan0\" are names of the same interface, whose ingress is shaped twice: "
      "expected its classes in one [[shape]]");
}

TEST_F(InterfaceConflictsTest, TwoDirectionsTwoInterfacesAndThoseThatAreNotThereGoTogether) {
  EXPECT_EQ(refusal({shape("eth0"), shape("wan0", "", Direction::ingress), shape("lan0")}), "no error");
  EXPECT_EQ(refusal({shape("eth0"), shape("not-yet"), shape("nor-this"), shape("eth1", "not-yet")}),
            "no error");
}

TEST_F(InterfaceConflictsTest, AThirdEndOfAWireByAnotherName) {
  EXPECT_EQ(refusal({shape("eth0", "lan0"), shape("eth1", "uplink")}), "no error");
  EXPECT_EQ(
      refusal({shape("eth0", "eth1"), shape("eth1", "wan0"), shape("eth2", "lan0")}),
      "forward_to: \"eth1\" and \"lan0\" are names of the same interface, which is inline itself and the "
      "other end of both \"eth0\" and \"eth2\": expected one");
  EXPECT_EQ(refusal({shape("eth0", "eth1"), shape("eth2", "lan0")}),
            "no error");  // eth1 is not inline itself
}

}  // namespace
}  // namespace headgate::test
