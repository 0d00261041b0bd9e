#include "top/samples.hpp"

#include <gtest/gtest.h>

#include "control/fake_daemon.hpp"

namespace headgate::top {
namespace {

using namespace std::chrono_literals;
using Json = Samples::Json;

Json ask(FakeDaemon& daemon, const std::string& request) {
  return Json::parse(handle_request(request, daemon).line);
}

void look(Samples& samples, FakeDaemon& daemon) {
  samples.add_show(ask(daemon, R"({"command":"show"})"));
}

ClassStatistics& clients(FakeDaemon& daemon) {
  return daemon.status_now.shapes[0].shaper.classes[1];
}

// A second in which the clients of eth0 sent 500 packets of 60 bytes, and 20 were dropped.
void pass_a_second(FakeDaemon& daemon) {
  daemon.status_now.uptime += 1s;
  const Count sent{500, 30'000}, dropped{20, 1'200};
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  const auto queue_full = static_cast<std::size_t>(DropReason::queue_full);
  clients(daemon).sent += sent;
  clients(daemon).dropped[queue_full] += dropped;
  clients(daemon).delays.packets[12] += 500;
  eth0.shaper.sent += sent;
  eth0.shaper.dropped[queue_full] += dropped;
}

TEST(Samples, HaveLinksAndTheirClasses) {
  FakeDaemon daemon;
  Samples samples;
  look(samples, daemon);
  ASSERT_EQ(samples.links().size(), 2);
  const Row& eth0 = samples.links()[0];
  EXPECT_EQ(eth0.key, "eth0/egress");
  EXPECT_EQ(eth0.name, "eth0 egress");
  EXPECT_EQ(eth0.trouble, "");
  EXPECT_EQ(eth0.queued, 100);
  EXPECT_EQ(samples.links()[1].trouble, "the interface is down");
  const Rows& classes = samples.classes_of("eth0/egress");
  ASSERT_EQ(classes.size(), 3);
  EXPECT_EQ(classes[0].limit, "bypass");
  EXPECT_FALSE(classes[0].opens);
  EXPECT_EQ(classes[1].key, "eth0/egress/clients");
  EXPECT_EQ(classes[1].limit, "1000pps");
  EXPECT_EQ(classes[1].flows, 20);
  EXPECT_TRUE(classes[1].opens);
  EXPECT_EQ(classes[1].details[1],
            "sent 20.0k packets 1.20 MB, dropped 39.9k: queue_full 39.9k, send_failed 3");
  EXPECT_EQ(classes[2].name, "(unmatched)");
  EXPECT_TRUE(samples.classes_of("eth9/egress").empty());
}

TEST(Samples, HaveRatesBetweenTwoLooks) {
  FakeDaemon daemon;
  Samples samples;
  look(samples, daemon);
  pass_a_second(daemon);
  look(samples, daemon);
  EXPECT_EQ(samples.seconds(), 1);
  for (const Row& row : {samples.links()[0], samples.classes_of("eth0/egress")[1]}) {
    const Sample& now = row.history.latest();
    EXPECT_EQ(now.packets, 500) << row.key;
    EXPECT_EQ(now.bits, 240'000) << row.key;
    EXPECT_EQ(now.drops, 20) << row.key;
    EXPECT_EQ(now.p50, 97'000) << row.key;  // as the daemon has measured it: it is within the bounds
    EXPECT_EQ(now.p99, 99'500) << row.key;
  }
  EXPECT_EQ(samples.classes_of("eth0/egress")[0].history.latest().p99, std::nullopt);
}

TEST(Samples, ForgetClassesThatGoAndMeetThoseThatCome) {
  FakeDaemon daemon;
  Samples samples;
  look(samples, daemon);
  pass_a_second(daemon);
  ShapeStatistics& eth0 = daemon.status_now.shapes[0];
  const ShapeStatistics before = eth0;
  eth0.config.classes.pop_back();
  eth0.shaper.classes.pop_back();
  look(samples, daemon);
  ASSERT_EQ(samples.classes_of("eth0/egress").size(), 2);
  EXPECT_EQ(samples.links()[0].history.latest().packets, 500);
  eth0 = before;
  pass_a_second(daemon);
  look(samples, daemon);
  ASSERT_EQ(samples.classes_of("eth0/egress").size(), 3);
  EXPECT_TRUE(samples.classes_of("eth0/egress")[1].history.samples().empty());
  daemon.status_now.shapes.erase(daemon.status_now.shapes.begin());
  look(samples, daemon);
  EXPECT_TRUE(samples.classes_of("eth0/egress").empty());
}

TEST(Samples, HaveAGapWhereTheDaemonIsAnotherProcess) {
  FakeDaemon daemon;
  Samples samples;
  look(samples, daemon);
  pass_a_second(daemon);
  look(samples, daemon);
  daemon.status_now.pid = 4321;
  pass_a_second(daemon);
  look(samples, daemon);
  const History& history = samples.classes_of("eth0/egress")[1].history;
  ASSERT_EQ(history.samples().size(), 2);
  EXPECT_EQ(history.samples()[0].packets, 500);
  EXPECT_EQ(history.samples()[1].packets, std::nullopt);
}

TEST(Samples, HaveAPatternAsOneLinkAndItsInstancesWhereTheyAreTold) {
  FakeDaemon daemon;
  add_pattern(daemon);
  Samples samples;
  samples.add_show(ask(daemon, R"({"command":"show","instances":false})"));
  ASSERT_EQ(samples.links().size(), 3);
  EXPECT_EQ(samples.links()[2].key, "veth*/egress");
  EXPECT_EQ(samples.classes_of("veth*/egress")[0].key, "veth*/egress/tenants");
  look(samples, daemon);
  EXPECT_EQ(samples.links().size(), 5);
}

TEST(Samples, HaveTheFlowsOfTheClassThatIsOpen) {
  FakeDaemon daemon;
  daemon.growth_per_query = {500, 30'000};
  daemon.time_per_query = 1s;
  Samples samples;
  const std::string name = "eth0/egress/clients";
  const auto look_at_flows = [&] {
    samples.add_flows(name, ask(daemon, R"({"command":"flows","class":"eth0/egress/clients"})"));
  };
  look_at_flows();
  look_at_flows();
  ASSERT_EQ(samples.flows_of(name).size(), 2);
  EXPECT_EQ(samples.flows_in_all(), 20);
  EXPECT_EQ(samples.flows_of(name)[0].name, "→ 10.0.0.3");
  EXPECT_EQ(samples.flows_of(name)[0].history.latest().packets, 500);
  EXPECT_TRUE(samples.flows_of("eth0/egress/video").empty());
  samples.add_flows("video", ask(daemon, R"({"command":"flows","class":"video"})"));
  EXPECT_TRUE(samples.flows_of(name).empty());
}

TEST(Samples, SayWhichInterfaceAFlowOfAPatternIsOn) {
  FakeDaemon daemon;
  add_pattern(daemon);
  Samples samples;
  samples.add_flows("veth*/egress/tenants",
                    ask(daemon, R"({"command":"flows","class":"veth*/egress/tenants"})"));
  ASSERT_FALSE(samples.flows_of("veth*/egress/tenants").empty());
  EXPECT_EQ(samples.flows_of("veth*/egress/tenants")[0].name, "veth1/egress/tenants: → 10.1.0.2");
}

}  // namespace
}  // namespace headgate::top
