#include <gtest/gtest.h>

#include <string>

#include "linux/divert_fixture.hpp"

namespace headgate::test {
namespace {

class RefusedInterfaceTest : public NetworkLabTest {
 protected:
  static std::string refusal(const std::string& interface) {
    return message_of([&] { TrafficDivert divert(options_for(DivertMethod::automatic, interface)); });
  }
};

TEST_F(RefusedInterfaceTest, AnUnknownInterfaceWithTheListOfThoseThatExist) {
  EXPECT_EQ(refusal("eht0"), "no interface eht0: the Ethernet interfaces here are eth0");
  EXPECT_EQ(refusal("a-name-longer-than-any-interface-has"),
            "no interface a-name-longer-than-any-interface-has: the Ethernet interfaces here are eth0");
  EXPECT_EQ(refusal(""), "no interface : the Ethernet interfaces here are eth0");
}

TEST_F(RefusedInterfaceTest, TheLoopbackInterface) {
  EXPECT_EQ(refusal("lo"), "lo is the loopback interface; the Ethernet interfaces here are eth0");
}

TEST_F(RefusedInterfaceTest, AnInterfaceWithoutEthernetHeader) {
  lab().run("ip tuntap add dev tun7 mode tun");
  EXPECT_EQ(refusal("tun7"),
            "tun7 has no Ethernet header (its kind is tun), and packets diverted from it would be lost; the "
            "Ethernet "
            "interfaces here are eth0");
}

TEST_F(RefusedInterfaceTest, OurOwnDevices) {
  const TrafficDivert divert(options_for(DivertMethod::automatic));
  for (const std::string name : {"hg0", "hg0p"})
    EXPECT_EQ(refusal(name),
              name +
                  " is a divert device of headgate itself (headgate egress of eth0); the Ethernet "
                  "interfaces here are eth0");
}

TEST_F(RefusedInterfaceTest, TheSameByAnAlternativeName) {
  const TrafficDivert divert(options_for(DivertMethod::automatic));
  lab().run("ip link property add dev lo altname loop0 && ip link property add dev hg0p altname own0");
  EXPECT_EQ(refusal("loop0"), "loop0 (lo) is the loopback interface; the Ethernet interfaces here are eth0");
  EXPECT_EQ(
      refusal("own0"),
      "own0 (hg0p) is a divert device of headgate itself (headgate egress of eth0); the Ethernet interfaces "
      "here are eth0");
}

TEST_F(RefusedInterfaceTest, AnInterfaceThatIsShapedAlreadyByAnotherOfItsNames) {
  const TrafficDivert divert(options_for(DivertMethod::automatic));
  lab().run("ip link property add dev eth0 altname wan0");
  EXPECT_EQ(
      refusal("wan0"),
      "eth0 egress is already shaped by another [[shape]], that may call it by another of its names (eth0, "
      "wan0): expected its classes in one [[shape]]");
}

TEST_F(RefusedInterfaceTest, AWireToItselfByAnotherOfItsNames) {
  lab().run("ip link property add dev eth0 altname wan0");
  DivertOptions itself = options_for(DivertMethod::automatic);
  itself.direction = Direction::ingress;
  itself.forward_to = "wan0";
  EXPECT_EQ(message_of([&] { TrafficDivert divert(itself); }),
            "eth0 cannot be forwarded to itself, also called wan0");
}

TEST_F(RefusedInterfaceTest, AMarkThatDoesNotTellOurPacketsFromOthers) {
  DivertOptions unmarked = options_for(DivertMethod::automatic);
  unmarked.mark = 0;
  EXPECT_EQ(message_of([&] { TrafficDivert divert(unmarked); }),
            "the mark must not be 0, which every other packet has too");
}

}  // namespace
}  // namespace headgate::test
