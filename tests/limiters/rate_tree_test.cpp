// In virtual time, against a fluid and against the laws of the tree, which the driver watches all the while: nothing is sent
// above a ceiling and its slack, every guaranteed packet leaves by its deadline, every packet at the first instant it may.
#include "limiters/rate_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/random_rate_tree.hpp"
#include "support/rate_tree_driver.hpp"

namespace headgate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kClaim = 0.002;  // of the link
constexpr std::uint64_t kMeanPacket = 782;

std::optional<BitRate> bits(std::uint64_t rate) {
  return BitRate{rate};
}

Duration time_of_packets(std::uint64_t packets, double rate) {
  return Duration{static_cast<std::int64_t>(static_cast<double>(packets * kMeanPacket) * 8e9 / rate) + 1};
}

double seconds_of(Duration duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

struct Measure {
  double worst = 0;  // deviation of any node from the oracle, as a part of the link
  TreeNode node = kNoNode;
  double rate = 0;
  double expected = 0;
};

// Rates from now on, over at least `window`; over up to 16 times that while they are not what they should be.
Measure measure(RateTreeDriver& driver, const std::vector<double>& expected, Duration window, double link) {
  std::vector<std::uint64_t> before;
  for (TreeNode node = 0; node < expected.size(); ++node) before.push_back(driver.sent_bytes(node));
  const Instant start = driver.now();
  Measure measure;
  for (Duration length = window; length <= 16 * window; length *= 2) {
    driver.run_for(start + length - driver.now());
    measure = {};
    for (TreeNode node = 0; node < expected.size(); ++node) {
      const double rate =
          static_cast<double>(driver.sent_bytes(node) - before[node]) * 8 / seconds_of(driver.now() - start);
      const double deviation = std::abs(rate - expected[node]) / link;
      if (deviation > measure.worst) measure = {deviation, node, rate, expected[node]};
    }
    if (measure.worst <= kClaim) break;
  }
  return measure;
}

void expect_claim(const Measure& measure) {
  EXPECT_LE(measure.worst, kClaim) << "node " << measure.node << " has " << measure.rate
                                   << " bit/s and should have " << measure.expected;
}

struct Worst {
  double deviation = 0;
  double excess = 0;
  double lateness = 0;
  std::uint64_t packets = 0;
  std::uint64_t guaranteed_packets = 0;

  void add(const Measure& measure) { deviation = std::max(deviation, measure.worst); }
  void add(const RateTreeDriver& driver) {
    excess = std::max(excess, driver.laws().worst_excess());
    lateness = std::max(lateness, driver.laws().worst_lateness());
    packets += driver.sent_packets();
    guaranteed_packets += driver.laws().guaranteed_packets();
  }
  void record() const {
    testing::Test::RecordProperty("worst_deviation", std::to_string(deviation));
    testing::Test::RecordProperty("worst_excess_of_slack", std::to_string(excess));
    testing::Test::RecordProperty("worst_lateness_in_packets", std::to_string(lateness));
    testing::Test::RecordProperty("packets", std::to_string(packets));
    testing::Test::RecordProperty("guaranteed_packets", std::to_string(guaranteed_packets));
  }
};

void expect_fluid_rates(std::uint64_t first_seed, std::uint64_t trees, const RandomTreeShape& shape,
                        PacketSizes sizes, std::uint64_t packets) {
  Worst worst;
  for (std::uint64_t seed = first_seed; seed < first_seed + trees; ++seed) {
    SCOPED_TRACE("tree " + std::to_string(seed));
    const RandomRateTree tree(seed, shape);
    const std::vector<PacketSource> sources = tree.random_sources(seed, sizes);
    const std::vector<double> expected = fluid_rates(tree.nodes(), sources, 2 * tree.rate());
    RateTreeDriver driver(tree.nodes(), {.seed = seed});
    for (const TreeNode node : tree.classes()) driver.set_source(node, sources[node]);
    const double link = shape.link_rate ? static_cast<double>(tree.rate()) : std::max(1.0, expected[kLink]);
    driver.run_for(time_of_packets(packets / 2, link));
    const Measure measured = measure(driver, expected, time_of_packets(packets, link), link);
    expect_claim(measured);
    driver.expect_conservation();
    worst.add(measured);
    worst.add(driver);
    if (testing::Test::HasFailure()) break;
  }
  worst.record();
}

TEST(RateTree, GivesEachClassOfARandomTreeWhatAFluidWould) {
  expect_fluid_rates(1, 300, {}, PacketSizes::random, 1000);
}

TEST(RateTree, GivesEachClassWhatAFluidWouldWithPacketsOfOneSize) {
  expect_fluid_rates(1001, 100, {}, PacketSizes::equal, 1000);
}

TEST(RateTree, GivesEachClassOfALargeTreeWhatAFluidWould) {
  expect_fluid_rates(2001, 3, {.most_children = 7, .least_children = 4}, PacketSizes::random, 5000);
}

TEST(RateTree, GivesEachClassOfAFlatTreeWhatAFluidWould) {
  expect_fluid_rates(3001, 20, {.levels = 1, .most_children = 60, .least_children = 20}, PacketSizes::equal,
                     2000);
}

TEST(RateTree, NeedsNoRateOfTheLink) {
  expect_fluid_rates(4001, 30, {.link_rate = false}, PacketSizes::random, 1000);
}

TEST(RateTree, LetsEveryPacketLeaveAtTheFirstInstantItMay) {
  Worst worst;
  for (std::uint64_t seed = 5001; seed <= 5100; ++seed) {
    SCOPED_TRACE("tree " + std::to_string(seed));
    const RandomRateTree tree(seed, {.link_rate = seed % 5 != 0});
    const PacketSizes sizes = seed % 2 == 0 ? PacketSizes::random : PacketSizes::equal;
    const std::vector<PacketSource> sources = tree.random_sources(seed, sizes);
    RateTreeDriver driver(tree.nodes(), {.seed = seed, .check_turns = true});
    for (const TreeNode node : tree.classes()) driver.set_source(node, sources[node]);
    driver.run_for(time_of_packets(500, static_cast<double>(tree.rate())));
    driver.expect_conservation();
    worst.add(driver);
    if (testing::Test::HasFailure()) break;
  }
  worst.record();
}

// Packets go away by another way than by being sent, sources come and go, and the clock is late or is not.
TEST(RateTree, LosesNoWakeUpWhilePacketsComeAndGo) {
  Worst worst;
  for (std::uint64_t seed = 6001; seed <= 6100; ++seed) {
    SCOPED_TRACE("tree " + std::to_string(seed));
    const RandomRateTree tree(seed, {});
    const Duration packet = time_of_packets(1, static_cast<double>(tree.rate()));
    RateTreeDriver driver(
        tree.nodes(), {.seed = seed, .check_turns = true, .late = seed % 2 == 0 ? Duration{0} : 3 * packet});
    std::mt19937_64 random(seed);
    for (int change = 0; change < 100; ++change) {
      const std::vector<PacketSource> sources = tree.random_sources(random(), PacketSizes::random);
      const TreeNode node = tree.classes()[random() % tree.classes().size()];
      driver.set_source(node, random() % 3 == 0 ? PacketSource{} : sources[node]);
      driver.run_for(
          Duration{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(10 * packet.count()))});
    }
    driver.expect_conservation();
    worst.add(driver);
    if (testing::Test::HasFailure()) break;
  }
  worst.record();
}

TEST(RateTree, SettlesSoonAfterDemandsChange) {
  Worst worst;
  for (std::uint64_t seed = 7001; seed <= 7010; ++seed) {
    SCOPED_TRACE("tree " + std::to_string(seed));
    const RandomRateTree tree(seed, {});
    const auto link = static_cast<double>(tree.rate());
    RateTreeDriver driver(tree.nodes(), {.seed = seed});
    std::mt19937_64 random(seed);
    std::vector<PacketSource> sources(tree.nodes().size());
    for (int change = 0; change < 8; ++change) {
      const std::vector<PacketSource> others = tree.random_sources(random(), PacketSizes::random);
      for (const TreeNode node : tree.classes()) {
        if (random() % 2 == 0)
          sources[node] = random() % 3 == 0 ? PacketSource{} : others[node];
        else if (sources[node].saturating)
          continue;
        driver.set_source(node,
                          sources[node]);  // also of who stays: what waited would come on top of its demand
      }
      const std::vector<double> expected = fluid_rates(tree.nodes(), sources, 2 * tree.rate());
      driver.run_for(time_of_packets(300, link));
      const Measure measured = measure(driver, expected, time_of_packets(1500, link), link);
      expect_claim(measured);
      worst.add(measured);
    }
    driver.expect_conservation();
    worst.add(driver);
    if (testing::Test::HasFailure()) break;
  }
  worst.record();
}

// Many of one size and one weight, and one of more weight with a ceiling: its gate opens while others send.
TEST(RateTree, LosesNoTimeOfACeilingBesideManyOthers) {
  constexpr std::uint64_t kRate = 100'000'000;
  std::vector<TreeNodeConfig> nodes{{.ceiling = bits(kRate)},
                                    {.ceiling = bits(kRate / 10 * 4), .weight = 100}};
  nodes.resize(62);
  std::vector<PacketSource> sources(nodes.size(), {.saturating = true, .least = 1500});
  RateTreeDriver driver(nodes);
  for (TreeNode node = 1; node < nodes.size(); ++node) driver.set_source(node, sources[node]);
  driver.run_for(seconds(1));
  expect_claim(measure(driver, fluid_rates(nodes, sources, 2 * kRate), seconds(1), kRate));
}

// Others of the first priority come together: a class of small packets makes up for that too.
TEST(RateTree, LosesNoTimeOfACeilingByASmallPacket) {
  constexpr std::uint64_t kRate = 100'000'000;
  std::vector<TreeNodeConfig> nodes{{.ceiling = bits(kRate)}, {.ceiling = bits(kRate / 10 * 4)}};
  nodes.resize(12, {.priority = 0});
  std::vector<PacketSource> sources(nodes.size(), {.rate = kRate / 20, .least = 1500});
  sources[1] = {.saturating = true, .least = 64, .most = 64};
  RateTreeDriver driver(nodes);
  for (TreeNode node = 1; node < nodes.size(); ++node) driver.set_source(node, sources[node]);
  driver.run_for(seconds(1));
  expect_claim(measure(driver, fluid_rates(nodes, sources, 2 * kRate), seconds(1), kRate));
}

// A demand little above its guarantee is served at once, part by part: the guarantee's part is no smaller than the guarantee, so
// the other group gets its half of the rest.
TEST(RateTree, TakesWhatAGuaranteeGivesForItsWhole) {
  constexpr std::uint64_t kRate = 100'000'000;
  const std::vector<TreeNodeConfig> nodes{{.ceiling = bits(kRate)},
                                          {},
                                          {},
                                          {.parent = 1, .guarantee = bits(kRate / 10 * 3)},
                                          {.parent = 1},
                                          {.parent = 2}};
  for (const std::size_t least : {64, 1500}) {
    std::vector<PacketSource> sources(nodes.size());
    sources[3] = {.rate = 31'000'000, .least = least};
    sources[4] = sources[5] = {.saturating = true, .least = least};
    RateTreeDriver driver(nodes);
    for (TreeNode node = 3; node < nodes.size(); ++node) driver.set_source(node, sources[node]);
    driver.run_for(seconds(1));
    expect_claim(measure(driver, fluid_rates(nodes, sources, 2 * kRate), seconds(1), kRate));
  }
}

// The guarantees fill the ceilings above them and the link; all else floods. Laws of deadlines are watched by the driver.
TEST(RateTree, KeepsDeadlinesBelowTightCeilingsInAFlood) {
  constexpr std::uint64_t kRate = 10'000'000;
  const std::vector<TreeNodeConfig> nodes{{.ceiling = bits(kRate)},
                                          {.ceiling = bits(6'000'000)},
                                          {.ceiling = bits(4'000'000), .priority = 7},
                                          {.parent = 1, .guarantee = bits(5'900'000)},
                                          {.parent = 1, .guarantee = bits(100'000), .priority = 7},
                                          {.parent = 1, .priority = 0},
                                          {.parent = 2, .guarantee = bits(64'000)},
                                          {.parent = 2, .guarantee = bits(3'936'000)},
                                          {.parent = 2, .priority = 0},
                                          {.priority = 0}};
  Worst worst;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<PacketSource> sources(nodes.size(), {.saturating = true});
    std::mt19937_64 random(seed);
    RateTreeDriver driver(nodes, {.seed = seed, .check_turns = seed == 1});
    for (TreeNode node = 3; node < nodes.size(); ++node) {
      if (nodes[node].guarantee && seed % 2 == 0) {
        sources[node].saturating = false;
        sources[node].rate = nodes[node].guarantee->bits_per_second;
      }
      if (random() % 3 == 0) sources[node].least = random() % 2 == 0 ? 1500 : 64;
      driver.set_source(node, sources[node]);
    }
    driver.run_for(seconds(5));
    EXPECT_GT(driver.laws().guaranteed_packets(), 4000U);
    worst.add(driver);
  }
  worst.record();
}

TEST(RateTree, GivesNoBurstToWhoComesBack) {
  constexpr std::uint64_t kCeiling = 8'000'000;  // a byte a microsecond
  // A class below a group, both with a ceiling, on a link that others leave free.
  RateTree tree(std::vector<TreeNodeConfig>{{.ceiling = bits(1'000'000'000)},
                                            {.ceiling = bits(kCeiling)},
                                            {.parent = 1, .ceiling = bits(kCeiling)},
                                            {.parent = 1}});
  for (const TreeNode node : {2U, 3U}) {
    const Instant start = kTestStart + hours(node);
    tree.begin(node, 1000, start);
    for (int packet = 0; packet < 5; ++packet) {
      const Instant due = start + packet * milliseconds(1);
      if (packet > 0) {
        EXPECT_FALSE(tree.next(due - Duration{1}));
      }
      const RateTree::Turn turn = tree.next(due);
      ASSERT_EQ(turn.node, node);
      EXPECT_EQ(tree.departure(turn, start, due), due);
      tree.sent(turn, 1000, packet == 4 ? 0 : 1000, due, due);
    }
    EXPECT_FALSE(tree.next_event());
  }
}

// Whoever looks seldom finds all that could have left meanwhile, also when what comes later goes first.
TEST(RateTree, LosesNothingOfTheLinkWhenItIsAskedLate) {
  RateTree tree(std::vector<TreeNodeConfig>{{.ceiling = bits(8'000'000)},
                                            {.priority = 0},
                                            {.ceiling = bits(2'000'000)},
                                            {.guarantee = bits(1'000'000)}});
  constexpr int kWakeUps = 400;
  tree.begin(2, 1000, kTestStart);
  tree.begin(3, 1000, kTestStart);
  int sent = 0;
  bool waits = false;
  for (int i = 0; i < kWakeUps; ++i) {
    const Instant now = kTestStart + i * milliseconds(5);
    if (!waits) tree.begin(1, 1000, now);  // a packet that could not leave before now
    waits = true;
    while (const RateTree::Turn turn = tree.next(now)) {
      waits = waits && turn.node != 1;
      tree.sent(turn, 1000, turn.node == 1 ? 0 : 1000, tree.departure(turn, now, now), now);
      ++sent;
    }
  }
  EXPECT_NEAR(sent, 5 * (kWakeUps - 1), 2);  // a packet a millisecond
}

// A link that nobody could use is no credit for whoever comes then.
TEST(RateTree, GivesTheLinkNoBurstAfterATimeItWasNotUsed) {
  const std::vector<TreeNodeConfig> nodes{{.ceiling = bits(8'000'000)}, {.ceiling = bits(80'000)}, {}};
  RateTreeDriver driver(nodes);
  driver.set_source(1, {.saturating = true, .least = 1000, .most = 1000});
  driver.run_for(seconds(1));
  const std::uint64_t before = driver.sent_bytes(kLink);
  driver.set_source(2, {.saturating = true, .least = 1000, .most = 1000});
  driver.run_for(milliseconds(10));
  EXPECT_LE(driver.sent_bytes(kLink) - before, 11'000U);
}

TEST(RateTree, SharesAlikeAfterItsTagsBeganAnew) {
  constexpr std::uint64_t kRate = 10'000'000'000;
  constexpr std::uint64_t kPacket = 1 << 20;
  const std::vector<TreeNodeConfig> nodes{{.ceiling = bits(kRate)},
                                          {.ceiling = bits(kRate / 10), .weight = 10'000},
                                          {},
                                          {},
                                          {.ceiling = bits(kRate / 50)}};
  std::vector<PacketSource> sources(nodes.size(),
                                    {.saturating = true, .least = kPacket / 2, .most = kPacket});
  RateTreeDriver driver(nodes);
  for (TreeNode node = 1; node < nodes.size(); ++node) driver.set_source(node, sources[node]);
  const std::vector<double> expected = fluid_rates(nodes, sources, 2 * kRate);
  for (int i = 0; i < 5; ++i) expect_claim(measure(driver, expected, seconds(20), kRate));
  EXPECT_GT(driver.sent_bytes(2), std::uint64_t{3} << 34);
  // One that was away all the while.
  sources[4] = {};
  driver.set_source(4, sources[4]);
  driver.run_for(seconds(20));
  sources[4] = {.saturating = true, .least = kPacket, .most = kPacket};
  driver.set_source(4, sources[4]);
  expect_claim(measure(driver, expected, seconds(20), kRate));
}

TEST(RateTree, SharesByWeightsOfOneAndTenThousand) {
  constexpr std::uint64_t kRate = 10'000'000'000;
  const std::vector<TreeNodeConfig> nodes{{.ceiling = bits(kRate)}, {.weight = 10'000}, {.weight = 1}};
  RateTreeDriver driver(nodes);
  for (const TreeNode node : {1U, 2U})
    driver.set_source(node, {.saturating = true, .least = 1 << 16, .most = 1 << 16});
  driver.run_for(seconds(5));
  EXPECT_NEAR(static_cast<double>(driver.sent_bytes(1)) / 65536,
              static_cast<double>(driver.sent_bytes(2)) / 65536 * 10'000, 10'000);
  EXPECT_GE(driver.sent_bytes(2), 8U << 16);
}

// Rates so low that a year is few packets, and that divide nothing: each is exact to a packet at the end.
TEST(RateTree, DoesNotDriftInAYear) {
  const std::vector<TreeNodeConfig> nodes{
      {.ceiling = bits(19)}, {.guarantee = bits(7)}, {.ceiling = bits(3)}, {.parent = 0}, {.parent = 3}};
  std::vector<PacketSource> sources(nodes.size(), {.saturating = true, .most = 1499});
  RateTreeDriver driver(nodes, {.check_turns = true});
  for (const TreeNode node : {1U, 2U, 4U}) driver.set_source(node, sources[node]);
  const std::vector<double> expected = fluid_rates(nodes, sources, 40);
  driver.run_for(hours(24 * 365));
  for (TreeNode node = 0; node < nodes.size(); ++node) {
    const double bytes = expected[node] * 365 * 86'400 / 8;
    const double slack = nodes[node].ceiling ? 1500 : 3000;  // where shares decide, also of another's packet
    EXPECT_NEAR(static_cast<double>(driver.sent_bytes(node)), bytes, slack) << "node " << node;
  }
  EXPECT_GT(driver.sent_packets(), 50'000U);
}

TEST(RateTree, NamesWhatHoldsANodeBack) {
  RateTree tree(std::vector<TreeNodeConfig>{{.ceiling = bits(80'000'000)},
                                            {.ceiling = bits(8'000'000)},
                                            {.parent = 1, .ceiling = bits(800'000)},
                                            {}});
  EXPECT_EQ(tree.held_by(2, kTestStart), kNoNode);
  tree.begin(2, 1000, kTestStart);
  tree.sent(tree.next(kTestStart), 1000, 1000, kTestStart, kTestStart);
  EXPECT_EQ(tree.held_by(2, kTestStart), 2U);
  EXPECT_EQ(tree.held_by(1, kTestStart), 1U);
  EXPECT_EQ(tree.held_by(3, kTestStart), kLink);
  EXPECT_EQ(tree.held_by(3, kTestStart + milliseconds(1)), kNoNode);
  EXPECT_EQ(tree.held_by(2, kTestStart + milliseconds(10)), kNoNode);
}

}  // namespace
}  // namespace headgate
