#include "linux/netlink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>

#include <system_error>

#include "linux/bpf_attachment.hpp"
#include "linux/network_lab.hpp"

namespace headgate::test {
namespace {

using testing::Contains;
using testing::IsEmpty;

class NetlinkTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (!IsSkipped()) netlink_.emplace();
  }
  Netlink& netlink() { return *netlink_; }

 private:
  std::optional<Netlink> netlink_;
};

TEST_F(NetlinkTest, FindsLinksByNameAndIndex) {
  lab().run("ip link set eth0 alias 'the uplink' mtu 1400 address 02:00:00:00:00:07");
  const auto link = netlink().find_link("eth0");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->index, interface_index("eth0"));
  EXPECT_EQ(link->alias, "the uplink");
  EXPECT_EQ(link->kind, "veth");
  EXPECT_EQ(link->hardware_type, ARPHRD_ETHER);
  EXPECT_EQ(link->mtu, 1400u);
  EXPECT_EQ(link->address, (std::array<std::uint8_t, 6>{2, 0, 0, 0, 0, 7}));
  EXPECT_NE(link->flags & IFF_UP, 0u);
  EXPECT_EQ(netlink().find_link(link->index)->name, "eth0");
  EXPECT_EQ(netlink().find_link("lo")->hardware_type, ARPHRD_LOOPBACK);
  EXPECT_FALSE(netlink().find_link("eth1"));
  EXPECT_FALSE(netlink().find_link(4711));
  EXPECT_EQ(netlink().links().size(), 2u);
}

TEST_F(NetlinkTest, FindsALinkByItsAlternativeNames) {
  const std::string longest(127, 'x');
  for (const std::string& name : {std::string("wan0"), std::string("sixteen-letters-"), longest}) {
    EXPECT_FALSE(netlink().find_link(name)) << name;
    lab().run("ip link property add dev eth0 altname " + name);
    const auto link = netlink().find_link(name);
    ASSERT_TRUE(link) << name;
    EXPECT_EQ(link->index, interface_index("eth0"));
    EXPECT_EQ(link->name, "eth0");
    EXPECT_TRUE(link->is_called(name));
  }
  const auto link = netlink().find_link("eth0");
  EXPECT_THAT(link->alternative_names, testing::ElementsAre("wan0", "sixteen-letters-", longest));
  EXPECT_TRUE(link->is_called("eth0"));
  EXPECT_FALSE(link->is_called("wan"));
  EXPECT_FALSE(link->is_called(""));
  EXPECT_FALSE(netlink().find_link(std::string(128, 'x')));
  EXPECT_EQ(netlink().find_link("lo")->all_names(), "lo");
}

TEST_F(NetlinkTest, ListsMoreLinksThanOneMessageHolds) {
  for (int i = 0; i < 40; ++i)
    netlink().add_veth_pair("a" + std::to_string(i), "b" + std::to_string(i), std::string(200, 'x'), 0, 1500);
  EXPECT_EQ(netlink().links().size(), 82u);
}

TEST_F(NetlinkTest, MakesAVethPairThatIsDownAndSilent) {
  netlink().add_veth_pair("hg0", "hg0p", "headgate egress of eth0", 7, 9000);
  for (const char* name : {"hg0", "hg0p"}) {
    const auto link = netlink().find_link(name);
    ASSERT_TRUE(link) << name;
    EXPECT_EQ(link->alias, "headgate egress of eth0");
    EXPECT_EQ(link->mtu, 9000u);
    EXPECT_EQ(link->flags & IFF_UP, 0u);
    EXPECT_NE(link->flags & IFF_NOARP, 0u);
    netlink().set_up(link->index);
    EXPECT_NE(netlink().find_link(name)->flags & IFF_UP, 0u);
    lab().run("test -z \"$(ip -6 addr show dev " + std::string(name) + ")\"");
  }
  netlink().delete_link(netlink().find_link("hg0")->index);
  EXPECT_FALSE(netlink().find_link("hg0p"));
}

TEST_F(NetlinkTest, ANameThatIsTakenIsAnErrorThatNamesTheAttempt) {
  netlink().add_veth_pair("hg0", "hg0p", "", 7, 1500);
  try {
    netlink().add_veth_pair("hg1", "hg0p", "", 7, 1500);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), EEXIST);
    EXPECT_THAT(error.what(), testing::HasSubstr("create hg1 and hg0p"));
  }
  EXPECT_FALSE(netlink().find_link("hg1"));
}

TEST_F(NetlinkTest, WhatIsGoneAlreadyIsNoErrorToDelete) {
  netlink().delete_link(4711);
  netlink().delete_clsact(interface_index("eth0"));
  netlink().delete_filter(interface_index("eth0"), {.parent = clsact_parent(TrafficHook::egress),
                                                    .priority = 1,
                                                    .protocol = 3,
                                                    .handle = 1,
                                                    .kind = "bpf"});
}

TEST_F(NetlinkTest, MakesAndFindsClsact) {
  const int index = interface_index("eth0");
  EXPECT_FALSE(netlink().has_clsact(index));
  EXPECT_TRUE(netlink().ensure_clsact(index));
  EXPECT_FALSE(netlink().ensure_clsact(index)) << "it was there";
  EXPECT_TRUE(netlink().has_clsact(index));
  EXPECT_FALSE(netlink().has_clsact(interface_index("lo")));
  netlink().delete_clsact(index);
  EXPECT_FALSE(netlink().has_clsact(index));
}

TEST_F(NetlinkTest, ListsFiltersOfOthers) {
  const int index = interface_index("eth0");
  EXPECT_THAT(netlink().filters(index, clsact_parent(TrafficHook::egress)), IsEmpty());
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run("tc filter add dev eth0 ingress protocol ipv6 prio 9 u32 match u8 0 0");
  EXPECT_THAT(netlink().filters(index, clsact_parent(TrafficHook::egress)), IsEmpty());
  const auto filters = netlink().filters(index, clsact_parent(TrafficHook::ingress));
  ASSERT_FALSE(filters.empty());
  EXPECT_EQ(filters.front().kind, "u32");
  EXPECT_EQ(filters.front().priority, 9);
  EXPECT_EQ(filters.front().protocol, 0x86dd);
}

// What a LinkMonitor said.
struct LinkEvents {
  std::vector<Link> changed;
  std::vector<Link> deleted;
  int filters_deleted = 0;
  int overruns = 0;

  void read(LinkMonitor& monitor) {
    monitor.dispatch([this](const Link& link) { changed.push_back(link); },
                     [this](const Link& link) { deleted.push_back(link); }, [this] { ++filters_deleted; },
                     [this] { ++overruns; });
  }
};

bool readable(const LinkMonitor& monitor) {
  pollfd descriptor{.fd = monitor.descriptor(), .events = POLLIN, .revents = 0};
  return poll(&descriptor, 1, 0) > 0;
}

TEST_F(NetlinkTest, TheMonitorTellsOfChangesAndDeletions) {
  netlink().add_veth_pair("hg0", "hg0p", "", 7, 1500);
  const int index = netlink().find_link("hg0")->index;
  LinkMonitor monitor;
  LinkEvents events;
  events.read(monitor);
  EXPECT_THAT(events.changed, IsEmpty());
  EXPECT_FALSE(readable(monitor));

  netlink().set_up(index);
  EXPECT_TRUE(readable(monitor));
  events.read(monitor);
  ASSERT_FALSE(events.changed.empty());
  EXPECT_EQ(events.changed.back().index, index);
  EXPECT_EQ(events.changed.back().name, "hg0");
  EXPECT_NE(events.changed.back().flags & IFF_UP, 0u);

  lab().run("ip link set hg0 down");
  events.read(monitor);
  EXPECT_EQ(events.changed.back().flags & IFF_UP, 0u);

  lab().run("ip link set hg0 name hg7");
  events.read(monitor);
  EXPECT_EQ(events.changed.back().name, "hg7");
  EXPECT_THAT(events.deleted, IsEmpty());

  lab().run("ip link set hg7 up && ip link property add dev hg7 altname wan0");
  events.read(monitor);
  EXPECT_TRUE(events.changed.back().is_called("wan0"));

  netlink().delete_link(index);
  events.read(monitor);
  EXPECT_THAT(events.deleted, Contains(testing::Field(&Link::index, index)));
  EXPECT_FALSE(readable(monitor));
}

TEST_F(NetlinkTest, TheMonitorTellsOfFiltersAndQdiscsThatWent) {
  LinkMonitor monitor;
  LinkEvents events;
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run("tc filter add dev eth0 egress protocol ip prio 9 u32 match u8 0 0");
  events.read(monitor);
  EXPECT_EQ(events.filters_deleted, 0);
  lab().run("tc filter del dev eth0 egress prio 9");
  events.read(monitor);
  EXPECT_GE(events.filters_deleted, 1);
  const int before = events.filters_deleted;
  lab().run("tc qdisc del dev eth0 clsact");
  EXPECT_TRUE(readable(monitor));
  events.read(monitor);
  EXPECT_GT(events.filters_deleted, before);
  EXPECT_EQ(events.overruns, 0);
}

TEST_F(NetlinkTest, TheMonitorTellsThatItMissedSomething) {
  netlink().add_veth_pair("hg0", "hg0p", "", 7, 1500);
  LinkMonitor monitor;
  LinkEvents events;
  const int index = netlink().find_link("hg0")->index;
  for (int i = 0; i < 1000; ++i) {  // some kilobytes of messages each; nobody reads
    netlink().set_up(index);
    netlink().set_down(index);
  }
  events.read(monitor);
  EXPECT_EQ(events.overruns, 1);
  lab().run("ip link set hg0 name hg7");
  events.read(monitor);
  EXPECT_EQ(events.changed.back().name, "hg7") << "goes on after the gap";
}

}  // namespace
}  // namespace headgate::test
