#include "flows_screen.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/fake_daemon.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Json flows(FakeDaemon& daemon, const std::string& class_name) {
  Json request = {{"command", "flows"}};
  if (!class_name.empty()) request["class"] = class_name;
  return Json::parse(handle_request(request.dump(), daemon).line);
}

// A daemon whose flows send 500 packets of 60 bytes in the second from one look to the next.
FakeDaemon busy_daemon() {
  FakeDaemon daemon;
  daemon.growth_per_query = {500, 30'000};
  daemon.time_per_query = std::chrono::seconds(1);
  return daemon;
}

TEST(FlowsScreen, ShowsTheFlowsOfAClassWithTheirRates) {
  FakeDaemon daemon = busy_daemon();
  const Json before = flows(daemon, "eth0/egress/clients");
  const Json rated = with_rates(before, flows(daemon, "eth0/egress/clients"), 20);
  EXPECT_EQ(flows_screen(rated, {}), R"(eth0/egress/clients: 20 flows
the 2 largest; rates measured over 1.0 s

  FLOW            NOW               SENT          DROPPED  QUEUED
  → 10.0.0.3  500 pps  240 kbit/s   8500  510 kB    39.8k      40
  → 10.0.0.2  500 pps  240 kbit/s  12.5k  750 kB      100      60
)");
}

TEST(FlowsScreen, NamesTheClassOfEachFlowWhereThereAreSeveral) {
  FakeDaemon daemon = busy_daemon();
  daemon.flows_of["clients"].clear();
  const Json before = flows(daemon, "");
  const Json rated = with_rates(before, flows(daemon, ""), 20);
  EXPECT_EQ(flows_screen(rated, {}),
            R"(eth0/egress/dns: a bypass class, its packets are counted but not told apart by flow
eth0/egress/clients: 20 flows
eth1/ingress/clients: 0 flows
eth1/ingress/video: 2 flows
the 1 largest; rates measured over 3.0 s

  CLASS               FLOW                                 NOW               SENT           DROPPED  QUEUED
  eth1/ingress/video  10.0.0.1 → 10.0.0.2 udp 5000→53  167 pps  80.0 kbit/s   505  30.3 kB        0       1
)");
}

TEST(FlowsScreen, NamesThePlanOfEachFlowWhereTheClassHasPlans) {
  FakeDaemon daemon = busy_daemon();
  add_plans(daemon);
  const Json before = flows(daemon, "eth0/egress/clients");
  const Json rated = with_rates(before, flows(daemon, "eth0/egress/clients"), 20);
  EXPECT_EQ(flows_screen(rated, {}), R"(eth0/egress/clients: 20 flows
the 2 largest; rates measured over 1.0 s

  FLOW        PLAN      NOW               SENT          DROPPED  QUEUED
  → 10.0.0.3  -     500 pps  240 kbit/s   8500  510 kB    39.8k      40
  → 10.0.0.2  gold  500 pps  240 kbit/s  12.5k  750 kB      100      60
)");
}

TEST(FlowsScreen, ShowsNoTableForABypassClass) {
  FakeDaemon daemon;
  const Json reply = flows(daemon, "dns");
  EXPECT_EQ(flows_screen(with_rates(reply, reply, 20), {}),
            "eth0/egress/dns: a bypass class, its packets are counted but not told apart by flow\n");
}

TEST(FlowsScreen, SaysThatThereAreNoClasses) {
  FakeDaemon daemon;
  daemon.status_now.shapes.clear();
  const Json reply = flows(daemon, "");
  EXPECT_EQ(flows_screen(with_rates(reply, reply, 20), {}), "no class is configured\n");
}

TEST(FlowRates, AreAddedToTheReply) {
  FakeDaemon daemon = busy_daemon();
  const Json before = flows(daemon, "video");
  const Json rated = with_rates(before, flows(daemon, "video"), 20);
  EXPECT_EQ(rated["interval_s"], 1.0);
  EXPECT_EQ(rated["flows"][0]["rate"].dump(), R"({"packets_per_second":500.0,"bits_per_second":240000.0})");
}

TEST(FlowRates, AreNullForAFlowThatIsNewOrCameAgain) {
  FakeDaemon daemon = busy_daemon();
  const Json before = flows(daemon, "eth0/egress/clients");
  daemon.flows_of["clients"][0].sent = {1, 60};
  daemon.flows_of["clients"][1].key = ipv4_key(nullptr, "10.0.0.9");
  const Json rated = with_rates(before, flows(daemon, "eth0/egress/clients"), 20);
  EXPECT_TRUE(rated["flows"][0]["rate"].is_null());
  EXPECT_TRUE(rated["flows"][1]["rate"].is_null());
}

TEST(FlowRates, AreNullAcrossARestart) {
  FakeDaemon daemon = busy_daemon();
  const Json before = flows(daemon, "video");
  daemon.status_now.pid = 4321;
  EXPECT_TRUE(with_rates(before, flows(daemon, "video"), 20)["flows"][0]["rate"].is_null());
}

TEST(FlowRates, KeepNoMoreFlowsThanWereAskedFor) {
  FakeDaemon daemon = busy_daemon();
  const Json reply = flows(daemon, "eth0/egress/clients");
  const Json rated = with_rates(reply, reply, 1);
  ASSERT_EQ(rated["flows"].size(), 1);
  EXPECT_EQ(rated["flows"][0]["text"], "→ 10.0.0.3");
}

}  // namespace
}  // namespace headgate
