#include "linux/live_mark.hpp"

#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <unistd.h>

#include <system_error>

#include "linux/child_process.hpp"
#include "linux/network_lab.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using Meaning = LiveMark::Meaning;

class LiveMarkTest : public NetworkLabTest {
 protected:
  static int eth0() { return interface_index("eth0"); }
};

TEST_F(LiveMarkTest, TellsOfItsProcessForOneInterfaceAndOneMeaning) {
  EXPECT_FALSE(LiveMark::find_owner(eth0(), Meaning::shapes_egress));
  {
    const LiveMark mark(eth0(), Meaning::shapes_egress);
    EXPECT_EQ(LiveMark::find_owner(eth0(), Meaning::shapes_egress), getpid());
    EXPECT_FALSE(LiveMark::find_owner(eth0(), Meaning::shapes_ingress));
    EXPECT_FALSE(LiveMark::find_owner(eth0(), Meaning::uses_device));
    EXPECT_FALSE(LiveMark::find_owner(interface_index("lo"), Meaning::shapes_egress));
    lab().on_far_host(
        [] { EXPECT_FALSE(LiveMark::find_owner(interface_index("far0"), Meaning::shapes_egress)); });
  }
  EXPECT_FALSE(LiveMark::find_owner(eth0(), Meaning::shapes_egress));
}

TEST_F(LiveMarkTest, FindsThoseOfOthersBesideItself) {
  const LiveMark mark(eth0(), Meaning::shapes_egress);
  EXPECT_FALSE(mark.find_other_owner());
  ChildProcess other([] { new LiveMark(eth0(), Meaning::shapes_egress); });
  EXPECT_EQ(mark.find_other_owner(), other.process());
  other.kill_now();
  EXPECT_FALSE(mark.find_other_owner());
}

TEST_F(LiveMarkTest, StaysWhenTheInterfaceIsRenamedAndSetDown) {
  const LiveMark mark(eth0(), Meaning::shapes_ingress);
  lab().run("ip link set eth0 down && ip link set eth0 name lan0");
  EXPECT_EQ(LiveMark::find_owner(interface_index("lan0"), Meaning::shapes_ingress), getpid());
  lab().run("ip link set lan0 up");
  EXPECT_EQ(LiveMark::find_owner(interface_index("lan0"), Meaning::shapes_ingress), getpid());
}

TEST_F(LiveMarkTest, CannotBeMadeWithoutTheRightToCapture) {
  EXPECT_EQ(result_in_child([]() -> std::string {
              if (setresuid(65'534, 65'534, 65'534) != 0) return "cannot become nobody";
              LiveMark mark(eth0(), Meaning::shapes_egress);
              return "made";
            }),
            "open a packet socket: Operation not permitted");
}

// The program of a capture that somebody else runs there is none.
TEST_F(LiveMarkTest, AnotherPacketSocketIsNoMark) {
  const RawPort port("eth0");
  for (const Meaning meaning : {Meaning::shapes_egress, Meaning::shapes_ingress, Meaning::uses_device})
    EXPECT_FALSE(LiveMark::find_owner(eth0(), meaning));
}

}  // namespace
}  // namespace headgate::test
