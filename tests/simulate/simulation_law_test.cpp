// What holds of every simulation, whatever the traffic.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report_csv.hpp"
#include "report_json.hpp"
#include "support/manual_clock.hpp"
#include "support/simulated_shape.hpp"
#include "synthetic_traffic.hpp"
#include "traffic_grammar.hpp"

namespace headgate {
namespace {

constexpr char kTraffic[] =
    "poisson udp 10.0.0.1:1000>10.1.0.1:53 64b..1500b 1500pps flows 20 destinations;"
    "onoff 50ms 100ms tcp 10.0.0.1:1000>10.2.0.1:443 1000b 20mbit flows 5;"
    "udp [2001:db8::1]:1>[2001:db8::2]:2 300b 3mbit burst 20p";

constexpr char kBuckets[] = R"(
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  match = "udp and ip"
  key   = "dst"
  rate  = "1000pps"
  queue = "20ms"
  [[shape.class]]
  name   = "web"
  match  = "tcp"
  key    = "5-tuple"
  action = "police"
  rate   = "5mbit"
  exceed = "dscp:cs1"
  [[shape.class]]
  name  = "six"
  match = "ip6"
  rate  = ["2mbit", "1000pps"]
)";

constexpr char kTree[] = R"(
[[shape]]
interface = "eth0"
rate      = "20mbit"
  [[shape.group]]
  name    = "office"
  ceiling = "15mbit"
  [[shape.class]]
  name      = "clients"
  group     = "office"
  match     = "udp and ip"
  guarantee = "2mbit"
  fair      = true
  [[shape.class]]
  name   = "web"
  group  = "office"
  match  = "tcp"
  weight = 3
)";

std::unique_ptr<SimulatedShape> run(const char* config, bool witnessed, std::uint64_t seed = 1) {
  auto shape = std::make_unique<SimulatedShape>(config, kTestStart, witnessed);
  SyntheticTraffic traffic(read_traffic(kTraffic), kTestStart, std::chrono::seconds(1), seed);
  shape->run(traffic);
  return shape;
}

class SimulationLaw : public testing::TestWithParam<const char*> {};

TEST_P(SimulationLaw, IsTheSameEachTime) {
  EXPECT_EQ(report_json(*run(GetParam(), false)->summary, 1000).dump(),
            report_json(*run(GetParam(), false)->summary, 1000).dump());
  EXPECT_NE(report_json(*run(GetParam(), false)->summary, 1000).dump(),
            report_json(*run(GetParam(), false, 2)->summary, 1000).dump());
}

// Arrivals and departures are taken in steps, which must make no difference.
TEST_P(SimulationLaw, IsTheSameOneByOne) {
  EXPECT_EQ(report_json(*run(GetParam(), false)->summary, 1000).dump(),
            report_json(*run(GetParam(), true)->summary, 1000).dump());
}

TEST_P(SimulationLaw, TheTallyOfFlowsIsWhatTheShaperCounts) {
  const auto shape = run(GetParam(), false);
  const SimulationSummary& summary = *shape->summary;
  std::uint64_t dropped_in_all = 0;
  for (std::uint32_t i = 0; i + 1 < summary.classes.size(); ++i) {
    Count offered, sent, dropped;
    std::uint64_t reasons = 0, delays = 0;
    for (const FlowTally& flow : summary.flows) {
      if (flow.class_number != i) continue;
      offered += flow.offered;
      sent += flow.sent;
      dropped += flow.dropped;
      delays += flow.delays.count();
      for (const std::uint64_t packets : flow.reasons) reasons += packets;
    }
    const ClassStatistics& counted = summary.classes[i].counted;
    SCOPED_TRACE(counted.name);
    EXPECT_EQ(offered, counted.received);
    EXPECT_EQ(sent, counted.sent);
    EXPECT_EQ(dropped, total(counted.dropped));
    EXPECT_EQ(reasons, dropped.packets);
    EXPECT_EQ(delays, sent.packets);
    Count in_bins;
    for (const SeriesBin& bin : summary.series[i]) in_bins += bin.sent;
    EXPECT_EQ(in_bins, counted.sent);
    dropped_in_all += reasons;
  }
  EXPECT_GT(dropped_in_all, 0U);
}

TEST_P(SimulationLaw, DepartsInOrderOfTime) {
  const auto shape = run(GetParam(), true);
  const auto& departures = shape->events.departures;
  EXPECT_TRUE(std::is_sorted(departures.begin(), departures.end(),
                             [](const auto& one, const auto& other) { return one.at < other.at; }));
  for (const auto& departure : departures) EXPECT_GE(departure.at, departure.packet.arrival);
}

TEST_P(SimulationLaw, CsvHasALineForEachClassAndFlow) {
  const auto shape = run(GetParam(), false);
  const std::string csv = report_csv(*shape->summary);
  const std::size_t lines = static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n'));
  const std::size_t unmatched = shape->summary->counted.unmatched.packets > 0 ? 1 : 0;
  EXPECT_EQ(lines,
            1 + shape->read.config.shapes[0].classes.size() + unmatched + shape->summary->flows.size());
}

INSTANTIATE_TEST_SUITE_P(Shapes, SimulationLaw, testing::Values(kBuckets, kTree));

}  // namespace
}  // namespace headgate
