#include <gtest/gtest.h>

#include <string>

#include "linux/divert_fixture.hpp"
#include "linux/link_kind.hpp"

namespace headgate::test {
namespace {

class RefusedInterfaceTest : public NetworkLabTest {
 protected:
  static std::string refusal(const std::string& interface) {
    return message_of([&] { LoneDivert divert(options_for(DivertMethod::automatic, interface)); });
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
  EXPECT_EQ(
      refusal("tun7"),
      "tun7 has no Ethernet header (its kind is tun), which needs capture = \"bpf\"; the Ethernet interfaces "
      "here are eth0");
}

class RefusedLinkTest : public RefusedInterfaceTest {
 protected:
  static LoneOptions copying(const std::string& interface, Direction direction = Direction::egress) {
    LoneOptions options = options_for(DivertMethod::automatic, interface);
    options.copies = true;
    options.direction = direction;
    return options;
  }
  static std::string refusal(const LoneOptions& options) {
    return message_of([&] { LoneDivert divert(options); });
  }
  void add_tun(const std::string& name) { lab().run("ip tuntap add dev " + name + " mode tun"); }
};

TEST_F(RefusedLinkTest, WithRingBuffersAnInterfaceWithoutEthernetHeaderIsNone) {
  add_tun("tun7");
  EXPECT_EQ(refusal(copying("tun7")), "no error");
  EXPECT_EQ(refusal(copying("tun8")), "no interface tun8: the interfaces here are eth0, tun7");
}

TEST_F(RefusedLinkTest, AWireBetweenTwoKindsOfLinks) {
  add_tun("tun7");
  add_tun("tun8");
  LoneOptions to_ethernet = copying("tun7", Direction::ingress);
  to_ethernet.forward_to = "eth0";
  EXPECT_EQ(refusal(to_ethernet),
            "tun7 cannot be forwarded to eth0: tun7 has no Ethernet header, and the other has one");
  LoneOptions from_ethernet = copying("eth0", Direction::ingress);
  from_ethernet.forward_to = "tun7";
  EXPECT_EQ(refusal(from_ethernet),
            "eth0 cannot be forwarded to tun7: tun7 has no Ethernet header, and the other has one");
  LoneOptions alike = copying("tun7", Direction::ingress);
  alike.forward_to = "tun8";
  EXPECT_EQ(refusal(alike), "no error");
}

TEST(LinkKindTest, ATunnelNeedsARemoteEndAndOfGreAndSitOnlyTheEgressIsShaped) {
  const auto link = [](const char* kind, unsigned type, unsigned flags) {
    Link made;
    made.kind = kind;
    made.hardware_type = type;
    made.flags = flags;
    return made;
  };
  constexpr unsigned kPointToPoint = 0x10;  // IFF_POINTOPOINT
  for (const auto& [kind, type] :
       {std::pair("ipip", 768U), {"ip6tnl", 769U}, {"sit", 776U}, {"gre", 778U}, {"ip6gre", 823U}}) {
    EXPECT_EQ(link_header_of(link(kind, type, 0)), LinkHeader::none);
    EXPECT_EQ(why_not_shapable(link(kind, type, 0), Direction::egress),
              "is a tunnel without one remote end (its kind is " + std::string(kind) +
                  "), and knows from their routes where packets go");
    EXPECT_EQ(why_not_shapable(link(kind, type, kPointToPoint), Direction::egress), "");
    const bool keeps_outer = type == 776 || type == 778;
    EXPECT_EQ(why_not_shapable(link(kind, type, kPointToPoint), Direction::ingress).empty(), !keeps_outer)
        << kind;
  }
  EXPECT_EQ(link_header_of(link("", 1, 0)), LinkHeader::ethernet);
  EXPECT_EQ(link_header_of(link("can", 280, 0)), std::nullopt);
  EXPECT_FALSE(takes_packets_of_sockets(link("ppp", 512, kPointToPoint)));
}

TEST_F(RefusedInterfaceTest, OurOwnDevices) {
  const LoneDivert divert(options_for(DivertMethod::automatic));
  for (const std::string name : {"hg0", "hg0p"})
    EXPECT_EQ(refusal(name),
              name +
                  " is a divert device of headgate itself (headgate egress of eth0); the Ethernet "
                  "interfaces here are eth0");
}

TEST_F(RefusedInterfaceTest, TheSameByAnAlternativeName) {
  const LoneDivert divert(options_for(DivertMethod::automatic));
  lab().run("ip link property add dev lo altname loop0 && ip link property add dev hg0p altname own0");
  EXPECT_EQ(refusal("loop0"), "loop0 (lo) is the loopback interface; the Ethernet interfaces here are eth0");
  EXPECT_EQ(
      refusal("own0"),
      "own0 (hg0p) is a divert device of headgate itself (headgate egress of eth0); the Ethernet interfaces "
      "here are eth0");
}

TEST_F(RefusedInterfaceTest, AnInterfaceThatIsShapedAlreadyByAnotherOfItsNames) {
  const LoneDivert divert(options_for(DivertMethod::automatic));
  lab().run("ip link property add dev eth0 altname wan0");
  EXPECT_EQ(
      refusal("wan0"),
      "eth0 egress is already shaped by another [[shape]], that may call it by another of its names (eth0, "
      "wan0): expected its classes in one [[shape]]");
}

TEST_F(RefusedInterfaceTest, AWireToItselfByAnotherOfItsNames) {
  lab().run("ip link property add dev eth0 altname wan0");
  LoneOptions itself = options_for(DivertMethod::automatic);
  itself.direction = Direction::ingress;
  itself.forward_to = "wan0";
  EXPECT_EQ(message_of([&] { LoneDivert divert(itself); }),
            "eth0 cannot be forwarded to itself, also called wan0");
}

TEST_F(RefusedInterfaceTest, AMarkThatDoesNotTellOurPacketsFromOthers) {
  LoneOptions unmarked = options_for(DivertMethod::automatic);
  unmarked.mark = 0;
  EXPECT_EQ(message_of([&] { LoneDivert divert(unmarked); }),
            "the mark must not be 0, which every other packet has too");
}

}  // namespace
}  // namespace headgate::test
