#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <string>
#include <vector>

#include "linux/bpf_attachment.hpp"
#include "linux/child_process.hpp"
#include "linux/divert_fixture.hpp"
#include "linux/netlink.hpp"
#include "linux/system_call.hpp"

namespace headgate::test {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LeftoversTest : public DivertTest {};
INSTANTIATE_FOR_BOTH_METHODS(LeftoversTest);

std::function<void()> divert_and_hold(const LoneOptions& options) {
  return [options] { (new LoneDivert(options))->attach(); };
}

TEST_P(LeftoversTest, AKilledDaemonFreesTheHostAndItsLeftoversAreSwept) {
  RETURN_UNLESS_APPLICABLE();
  UdpProbe probe(lab());
  Netlink netlink;
  ChildProcess daemon(divert_and_hold(options()));
  probe.send("vanishes");
  EXPECT_FALSE(probe.receive(milliseconds(20)));
  daemon.kill_now();
  send_until_one_passes(probe);
  EXPECT_THAT(names_of_links(), Contains("hg0"));

  const std::vector<std::string> done = TrafficDivert::sweep();
  EXPECT_THAT(done, Contains("removed divert device hg0 (headgate egress of eth0)"));
  EXPECT_EQ(done.size(), GetParam() == DivertMethod::tcx ? 1u : 2u);
  EXPECT_THAT(names_of_links(), testing::UnorderedElementsAre("lo", "eth0"));
  EXPECT_FALSE(netlink.has_clsact(interface_index("eth0")));
  EXPECT_THAT(TrafficDivert::sweep(), IsEmpty());
}

TEST_P(LeftoversTest, AStartSweepsTheLeftoversOfItsOwnInterface) {
  RETURN_UNLESS_APPLICABLE();
  Netlink netlink;
  for (int round = 0; round < 3; ++round) {
    ChildProcess daemon(divert_and_hold(options()));
    daemon.kill_now();
  }
  {
    LoneDivert divert(options());
    EXPECT_EQ(divert.device_name(), "hg0");
    EXPECT_EQ(divert.swept().size(), GetParam() == DivertMethod::tcx ? 1u : 2u);
    divert.attach();
    UdpProbe probe(lab());
    Capture capture(divert);
    probe.send("diverted");
    EXPECT_TRUE(capture.receive(kSoon));
  }
  EXPECT_THAT(names_of_links(), testing::UnorderedElementsAre("lo", "eth0"));
  EXPECT_FALSE(netlink.has_clsact(interface_index("eth0")));
}

TEST_P(LeftoversTest, AnInterfaceIsShapedByOneProcessOnly) {
  RETURN_UNLESS_APPLICABLE();
  const ChildProcess daemon(divert_and_hold(options()));
  EXPECT_EQ(message_of([this] { LoneDivert second(options()); }),
            "eth0 egress is already shaped by process " + std::to_string(daemon.process()));
  EXPECT_THAT(names_of_links(), testing::UnorderedElementsAre("lo", "eth0", "hg0", "hg0p"));
}

// As in another container, which shares the network and nothing else.
std::string with_a_run_of_its_own(const std::function<void()>& work) {
  return result_in_child([&] {
    check_system_call("unshare", unshare(CLONE_NEWNS));
    check_system_call("make mounts private", mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    check_system_call("mount a tmpfs", mount("tmpfs", "/run", "tmpfs", 0, nullptr));
    return message_of(work);
  });
}

TEST_P(LeftoversTest, AnInterfaceIsShapedByOneProcessOnlyThoughTheyShareNoDirectory) {
  RETURN_UNLESS_APPLICABLE();
  ChildProcess daemon(divert_and_hold(options()));
  const std::string process = "process " + std::to_string(daemon.process());
  EXPECT_EQ(with_a_run_of_its_own([this] { LoneDivert second(options()); }),
            "eth0 egress is already shaped by " + process);
  EXPECT_EQ(with_a_run_of_its_own([] { TrafficDivert::sweep(); }),
            "eth0 egress is being shaped by " + process + ": nothing was removed; stop it first");
  EXPECT_EQ(with_a_run_of_its_own([this] { LoneDivert other_direction(ingress_options()); }), "no error");
  daemon.kill_now();
  EXPECT_EQ(with_a_run_of_its_own([this] { LoneDivert second(options()); }), "no error");
}

TEST_P(LeftoversTest, APairIsInUseWhateverItIsCalledByNow) {
  RETURN_UNLESS_APPLICABLE();
  ChildProcess daemon(divert_and_hold(options()));
  lab().run("ip link del eth0 && ip link set hg0 name hg7 && ip link set hg0p name hg8");
  EXPECT_THAT(message_of([] { TrafficDivert::sweep(); }), HasSubstr("is in use by a live daemon"));
  daemon.kill_now();
  EXPECT_THAT(TrafficDivert::sweep(), testing::SizeIs(1));
}

TEST_P(LeftoversTest, SweepRefusesBesideALiveDaemon) {
  RETURN_UNLESS_APPLICABLE();
  ChildProcess daemon(divert_and_hold(options()));
  Netlink netlink;
  EXPECT_THAT(message_of([] { TrafficDivert::sweep(); }),
              HasSubstr("eth0 egress is being shaped by process " + std::to_string(daemon.process())));
  // Its interface is gone, but the daemon is not.
  lab().run("ip link del eth0");
  EXPECT_THAT(message_of([] { TrafficDivert::sweep(); }), HasSubstr("hg0"));
  EXPECT_THAT(names_of_links(), Contains("hg0p"));
  daemon.kill_now();
  EXPECT_THAT(TrafficDivert::sweep(), ElementsAre("removed divert device hg0 (headgate egress of eth0)"));
}

TEST_P(LeftoversTest, TwoInterfacesAreShapedSideBySide) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("ip link add eth1 type veth peer name eth2 && ip link set eth1 up");
  LoneDivert first(options());
  LoneDivert second(options_for(GetParam(), "eth1"));
  EXPECT_EQ(first.device_name(), "hg0");
  EXPECT_EQ(second.device_name(), "hg1");
  EXPECT_EQ(second.peer_name(), "hg1p");
  const auto link = *Netlink().find_link("hg1p");
  EXPECT_EQ(link.alias, "headgate egress of eth1");
}

TEST_P(LeftoversTest, ANameThatIsTakenIsPassedOver) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("ip link add hg0p type veth peer name other");
  {
    LoneDivert divert(options());
    EXPECT_EQ(divert.device_name(), "hg1");
  }
  EXPECT_THAT(TrafficDivert::sweep(), IsEmpty());  // the name alone does not make it ours
  EXPECT_THAT(names_of_links(), Contains("hg0p"));
}

TEST_P(LeftoversTest, APairThatWasNeverNamedIsSwept) {
  RETURN_UNLESS_APPLICABLE();
  Netlink netlink;
  netlink.add_veth_pair("hg0", "hg0p", "", 0x6867, 1500);  // killed before the aliases were set
  netlink.add_veth_pair("hg7", "hg7p", "", 0, 1500);       // of somebody else
  EXPECT_THAT(TrafficDivert::sweep(), ElementsAre("removed divert device hg0 (never named)"));
  EXPECT_THAT(names_of_links(), testing::UnorderedElementsAre("lo", "eth0", "hg7", "hg7p"));
}

TEST_P(LeftoversTest, NothingIsLeftWhenConstructionFails) {
  RETURN_UNLESS_APPLICABLE();
  lab().run("tc qdisc add dev eth0 ingress");
  if (GetParam() == DivertMethod::tcx) {
    LoneDivert divert(options());
    divert.attach();
    EXPECT_TRUE(divert.attached());
  } else {
    EXPECT_THAT(message_of([&] { LoneDivert divert(options()); }), HasSubstr("taken by one of kind ingress"));
  }
}

TEST_P(LeftoversTest, AttachRefusesADeviceThatIsDown) {
  RETURN_UNLESS_APPLICABLE();
  LoneDivert divert(options());
  lab().run("ip link set hg0 down");
  EXPECT_EQ(message_of([&] { divert.attach(); }), "divert device hg0 is down");
  lab().run("ip link del hg0");
  EXPECT_EQ(message_of([&] { divert.attach(); }), "divert device hg0 is gone");
}

// --- the administrator's own clsact ----------------------------------------------------------------------

class ForeignClsactTest : public NetworkLabTest {
 protected:
  void SetUp() override {
    NetworkLabTest::SetUp();
    if (!IsSkipped()) netlink_.emplace();
  }

  std::vector<std::string> egress_filters() {
    std::vector<std::string> names;
    for (const Filter& filter :
         netlink_->filters(interface_index("eth0"), clsact_parent(TrafficHook::egress)))
      names.push_back(filter.kind + " " + filter.name);
    return names;
  }
  bool has_clsact() { return netlink_->has_clsact(interface_index("eth0")); }

 private:
  std::optional<Netlink> netlink_;
};

constexpr char kAddFilter[] = "tc filter add dev eth0 egress protocol ip prio 1 u32 match u8 0 0";

TEST_F(ForeignClsactTest, AQdiscAndFiltersOfTheAdministratorStay) {
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run(kAddFilter);
  {
    LoneDivert divert(options_for(DivertMethod::clsact));
    divert.attach();
    EXPECT_THAT(egress_filters(), testing::AllOf(Contains("u32 "), Contains("bpf headgate-egress")));
  }
  EXPECT_THAT(egress_filters(), Contains("u32 "));
  EXPECT_TRUE(has_clsact());
}

TEST_F(ForeignClsactTest, AnEmptyQdiscOfTheAdministratorStays) {
  lab().run("tc qdisc add dev eth0 clsact");
  {
    LoneDivert divert(options_for(DivertMethod::clsact));
    divert.attach();
  }
  EXPECT_TRUE(has_clsact());
}

TEST_F(ForeignClsactTest, AQdiscOfOursStaysWhileTheAdministratorHasAFilterThere) {
  {
    LoneDivert divert(options_for(DivertMethod::clsact));
    divert.attach();
    lab().run("tc filter add dev eth0 ingress protocol ip prio 7 u32 match u8 0 0");
  }
  EXPECT_TRUE(has_clsact());
  EXPECT_THAT(egress_filters(), IsEmpty());
}

TEST_F(ForeignClsactTest, SweepLeavesForeignFilters) {
  lab().run("tc qdisc add dev eth0 clsact");
  lab().run(kAddFilter);
  ChildProcess daemon(divert_and_hold(options_for(DivertMethod::clsact)));
  daemon.kill_now();
  EXPECT_THAT(TrafficDivert::sweep(), ElementsAre("removed filter headgate-egress from eth0",
                                                  "removed divert device hg0 (headgate egress of eth0)"));
  EXPECT_THAT(egress_filters(), Contains("u32 "));
}

}  // namespace
}  // namespace headgate::test
