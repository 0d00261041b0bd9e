#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>

#include <atomic>
#include <map>
#include <thread>

#include "linux/bpf_attachment.hpp"
#include "linux/child_process.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/forwarder.hpp"
#include "linux/netlink.hpp"
#include "linux/timer_waiter.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The near host stands in the wire between the far host (eth0) and the opposite one (eth1).
class InlineDivertTest : public DivertTest {
 protected:
  void SetUp() override {
    DivertTest::SetUp();
    if (!IsSkipped()) lab().put_near_host_in_between();
  }

  void ping_through(const char* address = kFar4, const char* how = "-c 3") {
    lab().on_opposite_host(
        [&] { lab().run(std::string("ping -q -i 0.05 -W 1 ") + how + " " + address + " > /dev/null"); });
  }
  bool nothing_passes() {
    bool failed = false;
    lab().on_opposite_host([&] {
      failed =
          std::system((std::string("ping -q -c 2 -i 0.1 -W 1 -w 1 ") + kFar4 + " > /dev/null").c_str()) != 0;
    });
    return failed;
  }
  bool promiscuous(const char* interface) {
    return (Netlink().find_link(interface)->flags & IFF_PROMISC) != 0;
  }
  std::optional<RawPort> port_on(const Host& host, const char* interface) {
    std::optional<RawPort> port;
    host([&] { port.emplace(interface); });
    return port;
  }
};
INSTANTIATE_FOR_BOTH_METHODS(InlineDivertTest);

// Both directions, each with a thread that sends on what it takes.
struct InlineShaper {
  InlineShaper(const LoneOptions& there_options, const LoneOptions& back_options)
      : there(there_options), back(back_options), there_forwarder(there), back_forwarder(back) {
    there.attach();
    back.attach();
  }
  void keep_wires() {
    there.keep_wire();
    back.keep_wire();
  }

  LoneDivert there;
  LoneDivert back;
  Forwarder there_forwarder;
  Forwarder back_forwarder;
};

TEST_P(InlineDivertTest, PassesPacketsOfBothDirectionsOnceAndAllElseByTheWire) {
  RETURN_UNLESS_APPLICABLE();
  InlineShaper shaper(inline_options("eth1", "eth0"), inline_options("eth0", "eth1"));
  ping_through(kFar4);  // and ARP before it
  const auto there = shaper.there_forwarder.captured();
  const auto back = shaper.back_forwarder.captured();
  ping_through(kFar4);
  EXPECT_GE(shaper.there_forwarder.captured() - there, 3u);
  EXPECT_LE(shaper.there_forwarder.captured() - there, 6u) << "multicast reports apart";
  EXPECT_GE(shaper.back_forwarder.captured() - back, 3u);
  EXPECT_LE(shaper.back_forwarder.captured() - back, 6u);
  ping_through(kFar6);
  const std::string data = test_data(4 * 1024 * 1024);
  EXPECT_TRUE(transfer_by_tcp(opposite_host(), far_host(), kFar4, data) == data);
  EXPECT_TRUE(transfer_by_tcp(far_host(), opposite_host(), kOpposite4, data) == data);
  EXPECT_EQ(shaper.there_forwarder.refused() + shaper.back_forwarder.refused(), 0u);
  EXPECT_EQ(shaper.there.unshaped().packets + shaper.back.unshaped().packets, 0u);
  EXPECT_TRUE(shaper.there.in_place());
}

std::map<std::string, Frame> frames_of_every_kind() {
  const MacAddress source{0x02, 0, 0, 0, 0, 0x01};
  const MacAddress stranger{0x02, 0, 0, 0x11, 0x22, 0x33};
  const auto udp = [](PacketBuilder builder) {
    return builder.ipv4(kOpposite4, kFar4).udp(4000, 9).payload(64).build();
  };
  return {
      {"STP", PacketBuilder().macs(source, {0x01, 0x80, 0xc2, 0, 0, 0}).ether_type(38).payload(46).build()},
      {"LLDP",
       PacketBuilder().macs(source, {0x01, 0x80, 0xc2, 0, 0, 0x0e}).ether_type(0x88cc).payload(46).build()},
      {"LACP",
       PacketBuilder().macs(source, {0x01, 0x80, 0xc2, 0, 0, 0x02}).ether_type(0x8809).payload(46).build()},
      {"ARP", PacketBuilder().arp(kOpposite4, "10.77.0.9").build()},
      {"for a stranger", udp(PacketBuilder().macs(source, stranger))},
      {"tagged", udp(PacketBuilder().vlan(0x6005))},
      {"tagged twice", udp(PacketBuilder().vlan(7, ETH_P_8021AD).vlan(9))},
      {"no IP, tagged", PacketBuilder().vlan(5).ether_type(0x88cc).payload(46).build()},
      {"neighbour solicitation", PacketBuilder().ipv6(kOpposite6, kFar6).icmpv6(135).payload(24).build()}};
}

TEST_P(InlineDivertTest, FramesOfEveryKindAndAddressComeOutAsTheyWentIn) {
  RETURN_UNLESS_APPLICABLE();
  const InlineShaper shaper(inline_options("eth1", "eth0"), inline_options("eth0", "eth1"));
  auto from = port_on(opposite_host(), "opposite0");
  auto to = port_on(far_host(), "far0");
  for (const auto& [name, frame] : frames_of_every_kind()) {
    from->send(frame);
    const auto& sent = frame;
    EXPECT_TRUE(to->receive_first([&](const Frame& arrived) { return arrived == sent; })) << name;
    to->send(frame);
    EXPECT_TRUE(from->receive_first([&](const Frame& arrived) { return arrived == sent; })) << name;
    EXPECT_FALSE(to->receive_first([&](const Frame& arrived) { return arrived == sent; }, milliseconds(20)))
        << name << " came back";
  }
}

TEST_P(InlineDivertTest, TheWireOutlivesAKilledOrStoppedDaemonAndIsTakenOver) {
  RETURN_UNLESS_APPLICABLE();
  const LoneOptions there = inline_options("eth1", "eth0");
  const LoneOptions back = inline_options("eth0", "eth1");
  const auto run = [=] { new InlineShaper(there, back); };
  {
    ChildProcess daemon(run);
    ping_through();
    kill(daemon.process(), SIGSTOP);
    ping_through(kFar4, "-c 1 -w 3");  // goes on when the dead-man switch has opened
    ping_through(kFar4);
    ping_through(kFar6);
    kill(daemon.process(), SIGCONT);
    ping_through();
    daemon.kill_now();
  }
  ping_through(kFar4, "-c 1 -w 3");  // without TCX the dead-man switch has to open first
  ping_through(kFar4);
  ping_through(kFar6);
  auto from = port_on(opposite_host(), "opposite0");
  auto to = port_on(far_host(), "far0");
  for (const auto& [name, frame] : frames_of_every_kind()) {
    from->send(frame);
    const auto& sent = frame;
    EXPECT_TRUE(to->receive_first([&](const Frame& arrived) { return arrived == sent; })) << name;
  }
  const std::string data = test_data(1024 * 1024);
  EXPECT_TRUE(transfer_by_tcp(opposite_host(), far_host(), kFar4, data) == data);

  EXPECT_THAT(TrafficDivert::sweep(true), Contains("removed divert device hg0 (headgate ingress of eth1)"));
  ping_through();
  EXPECT_TRUE(promiscuous("eth0"));
  {
    InlineShaper again(there, back);
    ping_through();
    EXPECT_TRUE(again.there.in_place());
  }
  EXPECT_FALSE(promiscuous("eth0"));
  EXPECT_FALSE(promiscuous("eth1"));
  EXPECT_FALSE(Netlink().has_clsact(interface_index("eth0")));
  EXPECT_TRUE(nothing_passes());
  EXPECT_THAT(names_of_links(), UnorderedElementsAre("lo", "eth0", "eth1"));
}

TEST_P(InlineDivertTest, CleanUpRemovesTheWireOfADeadDaemon) {
  RETURN_UNLESS_APPLICABLE();
  const LoneOptions there = inline_options("eth1", "eth0");
  ChildProcess daemon([=] { (new LoneDivert(there))->attach(); });
  daemon.kill_now();
  EXPECT_TRUE(promiscuous("eth1"));
  EXPECT_THAT(TrafficDivert::sweep(), Contains("removed the wire from eth1 to eth0 and promiscuous mode"));
  EXPECT_FALSE(promiscuous("eth1"));
  EXPECT_FALSE(Netlink().has_clsact(interface_index("eth1")));
  EXPECT_THAT(TrafficDivert::sweep(), IsEmpty());
}

TEST_P(InlineDivertTest, PromiscuousModeOfTheAdministratorStays) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("ip link set eth1 promisc on");
  const LoneOptions there = inline_options("eth1", "eth0");
  ChildProcess daemon([=] { (new LoneDivert(there))->attach(); });
  daemon.kill_now();
  LoneDivert(there).attach();
  EXPECT_TRUE(promiscuous("eth1"));
  EXPECT_THAT(TrafficDivert::sweep(), IsEmpty());
  EXPECT_TRUE(promiscuous("eth1"));
}

TEST_P(InlineDivertTest, AWireThatIsKeptIsTakenOverWithoutAGap) {
  RETURN_UNLESS_APPLICABLE();
  const LoneOptions there = inline_options("eth1", "eth0");
  std::optional<LoneDivert> divert;
  divert.emplace(there);
  divert->keep_wire();
  auto from = port_on(opposite_host(), "opposite0");
  auto to = port_on(far_host(), "far0");
  const auto frame = [](std::uint32_t number) {
    return PacketBuilder().ether_type(0x88b5).payload(
        {static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number), 0, 0});
  };
  std::atomic<bool> stop{false};
  std::uint32_t sent = 0;
  std::thread sender([&] {
    while (!stop) {
      from->send(frame(sent++).build());
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (int i = 0; i < 5; ++i) {
    divert.reset();
    divert.emplace(there);  // a wire taken over is kept until something is attached
  }
  stop = true;
  sender.join();
  std::uint32_t arrived = 0;
  while (arrived < sent) {
    const Frame expected = frame(arrived).build();
    if (!to->receive_first([&](const Frame& one) { return one == expected; }, std::chrono::seconds(1))) break;
    ++arrived;
  }
  EXPECT_EQ(arrived, sent);
  divert.reset();
  EXPECT_THAT(TrafficDivert::remove_wire("eth1"),
              ElementsAre("removed the wire from eth1 to eth0 and promiscuous mode"));
  EXPECT_THAT(TrafficDivert::remove_wire("eth1"), IsEmpty());
  EXPECT_THAT(TrafficDivert::remove_wire("eth9"), IsEmpty());
}

TEST_P(InlineDivertTest, AWireThatSomebodyCutIsNoticed) {
  RETURN_UNLESS_APPLICABLE();
  {
    LoneDivert divert(inline_options("eth1", "eth0"));
    divert.attach();
    EXPECT_TRUE(divert.in_place());
    lab().run("tc qdisc del dev eth1 clsact");
    EXPECT_FALSE(divert.in_place());
  }
  {
    LoneDivert divert(inline_options("eth1", "eth0"));
    divert.attach();
    lab().run("ip link set eth1 promisc off");
    EXPECT_FALSE(divert.in_place());
  }
  LoneDivert divert(inline_options("eth1", "eth0"));
  divert.attach();
  lab().run("ip link del eth0");
  EXPECT_FALSE(divert.in_place());
}

TEST_P(InlineDivertTest, TheWireRunsBehindTheFiltersOfTheAdministrator) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("tc qdisc add dev eth1 clsact");
  lab().run("tc filter add dev eth1 ingress protocol ip prio 9 u32 match u8 0 0");
  {
    LoneDivert divert(inline_options("eth1", "eth0"));
    divert.attach();
    const auto filters = Netlink().filters(interface_index("eth1"), clsact_parent(TrafficHook::ingress));
    EXPECT_EQ(filters.back().name, "headgate-wire to eth0, promiscuous");
    EXPECT_EQ(
        divert.hooks().bypass,
        "another filter (u32, priority 9) runs ahead of headgate's wire on eth1 ingress: what it does not "
        "let go on is not forwarded");
    lab().run("tc filter del dev eth1 ingress prio 9");
    EXPECT_EQ(divert.hooks().bypass, "");
  }
  EXPECT_TRUE(Netlink().has_clsact(interface_index("eth1")));
}

TEST_P(InlineDivertTest, AnOtherEndThatCannotBeUsedIsRefused) {
  RETURN_UNLESS_APPLICABLE();
  EXPECT_THAT(message_of([&] { LoneDivert divert(inline_options("eth1", "eth7")); }),
              testing::StartsWith("no interface eth7"));
  EXPECT_EQ(message_of([&] { LoneDivert divert(inline_options("eth1", "eth1")); }),
            "eth1 cannot be forwarded to itself");
  EXPECT_THAT(message_of([&] { LoneDivert divert(inline_options("eth1", "lo")); }),
              testing::StartsWith("lo is the loopback interface"));
}

}  // namespace
}  // namespace headgate::test
