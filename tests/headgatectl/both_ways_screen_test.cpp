#include "both_ways_screen.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/fake_daemon.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Json both(FakeDaemon& daemon) {
  return Json::parse(handle_request(R"({"command":"flows","class":"clients","both":true})", daemon).line);
}

// Its flows send 500 packets of 60 bytes in the second from one look to the next.
FakeDaemon busy_daemon() {
  FakeDaemon daemon;
  add_the_other_way(daemon);
  daemon.growth_per_query = {500, 30'000};
  daemon.time_per_query = std::chrono::milliseconds(500);  // a look asks for both ways
  return daemon;
}

TEST(BothWaysScreen, ShowsALineForEachAddress) {
  FakeDaemon daemon = busy_daemon();
  const Json before = both(daemon);
  EXPECT_EQ(both_ways_screen(with_rates_of_both(before, both(daemon), 20), {}),
            R"(down: eth0/egress/clients, 20 flows
up: eth1/ingress/clients, 3 flows
the 4 largest; rates measured over 1.0 s

  ADDRESS    PLAN          DOWN     SENT  DROPPED  QUEUED          UP     SENT  DROPPED  QUEUED
  10.0.0.3   -       240 kbit/s   510 kB    39.8k      40           -        -        -       -
  10.0.0.2   gold/-  240 kbit/s   750 kB      100      60  240 kbit/s  36.0 kB        0       1
  acme       acme    240 kbit/s  54.0 kB        0       0  240 kbit/s  33.0 kB        2       0
  10.0.0.77  -                -        -        -       -  240 kbit/s  30.6 kB        0       0
)");
}

TEST(BothWaysScreen, RatesAreNullWhereTheyAreNotKnown) {
  FakeDaemon daemon = busy_daemon();
  const Json before = both(daemon);
  daemon.flows_of["clients"][1].sent = {1, 60};  // forgotten, and come again
  const Json rated = with_rates_of_both(before, both(daemon), 2);
  ASSERT_EQ(rated["pairs"].size(), 2u);
  EXPECT_EQ(rated["pairs"][0]["text"], "10.0.0.3");
  EXPECT_TRUE(rated["pairs"][0]["down"]["rate"].is_null());
  EXPECT_EQ(rated["pairs"][1]["down"]["rate"]["packets_per_second"], 500.0);
}

TEST(BothWaysScreen, ShowsNoTableWithoutFlows) {
  FakeDaemon daemon;
  add_the_other_way(daemon);
  daemon.flows_of["clients"].clear();
  daemon.flows_of["eth1/ingress/clients"].clear();
  const Json reply = both(daemon);
  EXPECT_EQ(both_ways_screen(with_rates_of_both(reply, reply, 20), {}),
            "down: eth0/egress/clients, 20 flows\nup: eth1/ingress/clients, 3 flows\n");
}

}  // namespace
}  // namespace headgate
