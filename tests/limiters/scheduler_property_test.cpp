// Random trees and traffic in virtual time, against a fluid and against the laws of the scheduler, which the driver watches at
// each step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "headgate/scheduler.hpp"
#include "support/random_rate_tree.hpp"
#include "support/scheduler_driver.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr double kClaim = 0.002;  // of the link
constexpr std::uint64_t kMeanItem = 782;
constexpr std::uint64_t kQueueItems = 16;  // of a flow

// A tree as a scheduler is told it. Nodes that are nobody's parents are classes.
struct ScheduledTree {
  explicit ScheduledTree(const std::vector<TreeNodeConfig>& nodes) : place(nodes.size()) {
    std::vector<bool> is_group(nodes.size());
    for (TreeNode node = 1; node < nodes.size(); ++node) is_group[nodes[node].parent] = true;
    config.rate = nodes[kLink].ceiling;
    for (TreeNode node = 1; node < nodes.size(); ++node) {
      const TreeNodeConfig& each = nodes[node];
      std::optional<Scheduler::GroupNumber> parent;
      if (each.parent != kLink) parent = place[each.parent];
      if (is_group[node]) {
        place[node] = static_cast<std::uint32_t>(config.groups.size());
        config.groups.push_back({parent, each.ceiling, each.priority, each.weight});
      } else {
        place[node] = static_cast<std::uint32_t>(config.classes.size());
        config.classes.push_back({.parent = parent,
                                  .guarantee = each.guarantee,
                                  .ceiling = each.ceiling,
                                  .priority = each.priority,
                                  .weight = each.weight,
                                  .queue = {.items = kQueueItems}});
      }
    }
  }

  Scheduler::Config config;
  std::vector<std::uint32_t> place;  // by node: its number as a group or as a class
};

Duration time_of_items(std::uint64_t items, double rate) {
  return Duration{static_cast<std::int64_t>(static_cast<double>(items * kMeanItem) * 8e9 / rate) + 1};
}

// The worst deviation of any class from its rate, as a part of the link: over at least `window`, over up to 16 times that
// while it is more than it should be.
double worst_deviation(SchedulerDriver& driver, const std::vector<double>& expected, Duration window,
                       double link) {
  std::vector<std::uint64_t> before;
  for (std::uint32_t number = 0; number < expected.size(); ++number)
    before.push_back(driver.sent_bytes(number));
  const Instant start = driver.now();
  double worst = 0;
  for (Duration length = window; length <= 16 * window; length *= 2) {
    driver.run_for(start + length - driver.now());
    worst = 0;
    const double seconds = static_cast<double>((driver.now() - start).count()) / 1e9;
    for (std::uint32_t number = 0; number < expected.size(); ++number) {
      const double rate = static_cast<double>(driver.sent_bytes(number) - before[number]) * 8 / seconds;
      worst = std::max(worst, std::abs(rate - expected[number]) / link);
    }
    if (worst <= kClaim) break;
  }
  return worst;
}

struct RandomTraffic {
  PacketSizes sizes = PacketSizes::random;
  std::uint64_t most_flows = 5;  // of a class
  bool flow_rates = false;       // half of the classes, with a burst that covers the wait for their turns
};

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, const RandomTreeShape& shape, const RandomTraffic& traffic)
      : tree_(seed, shape), scheduled_(tree_.nodes()), random_(seed), traffic_(traffic) {
    sources_ = tree_.random_sources(seed, traffic.sizes);
    for (std::size_t i = 0; i < tree_.classes().size(); ++i)
      flows_.push_back(1 + random_() % traffic.most_flows);
    if (traffic.flow_rates) add_flow_rates();
  }

  void set_sources(SchedulerDriver& driver) const {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const PacketSource& source = sources_[tree_.classes()[i]];
      const std::uint32_t number = scheduled_.place[tree_.classes()[i]];
      const ItemSource all{
          .rate = source.rate, .saturating = source.saturating, .least = source.least, .most = source.most};
      for (std::uint64_t flow = 0; flow < flows_[i]; ++flow)
        driver.set_source({number, flow}, source.saturating ? all : ItemSource{});
      if (source.saturating) continue;
      driver.set_source(
          {number, 0}, {.rate = source.rate, .flows = flows_[i], .least = source.least, .most = source.most});
    }
  }

  // By class.
  std::vector<double> expected() const {
    std::vector<PacketSource> sources = sources_;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      PacketSource& source = sources[tree_.classes()[i]];
      const auto& limit = scheduled_.config.classes[scheduled_.place[tree_.classes()[i]]].flow_rate.bits;
      if (!limit) continue;
      const std::uint64_t most = limit->bits_per_second * flows_[i];
      source.rate = source.saturating ? most : std::min(source.rate, most);
      source.saturating = false;
    }
    const std::vector<double> rates = fluid_rates(tree_.nodes(), sources, 2 * tree_.rate());
    std::vector<double> of_classes(flows_.size());
    for (const TreeNode node : tree_.classes()) of_classes[scheduled_.place[node]] = rates[node];
    return of_classes;
  }

  const Scheduler::Config& config() const { return scheduled_.config; }
  double rate() const { return static_cast<double>(tree_.rate()); }

 private:
  void add_flow_rates() {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (random_() % 2 == 0) continue;
      Scheduler::Class& its_class = scheduled_.config.classes[scheduled_.place[tree_.classes()[i]]];
      const double part = std::uniform_real_distribution<double>(0.02, 0.6)(random_);
      its_class.flow_rate.bits =
          BitRate{1 + static_cast<std::uint64_t>(rate() * part / static_cast<double>(flows_[i]))};
      its_class.flow_rate.burst = DataSize{10'000};
    }
  }

  RandomRateTree tree_;
  ScheduledTree scheduled_;
  std::mt19937_64 random_;
  RandomTraffic traffic_;
  std::vector<PacketSource> sources_;  // by node
  std::vector<std::uint64_t> flows_;   // by place among tree_.classes()
};

void record(double deviation, double excess, std::uint64_t items) {
  testing::Test::RecordProperty("worst_deviation", std::to_string(deviation));
  testing::Test::RecordProperty("worst_excess_of_slack", std::to_string(excess));
  testing::Test::RecordProperty("items", std::to_string(items));
}

void expect_fluid_rates(std::uint64_t first_seed, std::uint64_t trees, const RandomTreeShape& shape,
                        const RandomTraffic& traffic, std::uint64_t items) {
  double worst = 0;
  double excess = 0;
  std::uint64_t sent = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + trees; ++seed) {
    SCOPED_TRACE("tree " + std::to_string(seed));
    const RandomRun run(seed, shape, traffic);
    SchedulerDriver driver(run.config(), {.seed = seed});
    run.set_sources(driver);
    driver.run_for(
        time_of_items(traffic.flow_rates ? 10 * items : items / 2, run.rate()));  // bursts are over
    const std::vector<double> expected = run.expected();
    const double all = std::accumulate(expected.begin(), expected.end(), 1.0);
    const double link = shape.link_rate ? run.rate() : all;
    const double deviation = worst_deviation(driver, expected, time_of_items(items, link), link);
    EXPECT_LE(deviation, kClaim);
    worst = std::max(worst, deviation);
    excess = std::max(excess, driver.worst_excess());
    sent += driver.sent();
    driver.drain_all();
    if (testing::Test::HasFailure()) break;
  }
  record(worst, excess, sent);
}

TEST(SchedulerProperty, GivesEachClassOfARandomTreeWhatAFluidWould) {
  expect_fluid_rates(1, 150, {}, {}, 1000);
}

TEST(SchedulerProperty, GivesEachClassWhatAFluidWouldWithItemsOfOneSize) {
  expect_fluid_rates(1001, 50, {}, {.sizes = PacketSizes::equal}, 1000);
}

TEST(SchedulerProperty, GivesEachClassOfALargeTreeWhatAFluidWould) {
  expect_fluid_rates(2001, 2, {.most_children = 7, .least_children = 4}, {.most_flows = 3}, 5000);
}

TEST(SchedulerProperty, NeedsNoRateOfTheLink) {
  expect_fluid_rates(4001, 30, {.link_rate = false}, {}, 1000);
}

TEST(SchedulerProperty, GivesEachClassWhatAFluidWouldWhereFlowsHaveRatesOfTheirOwn) {
  expect_fluid_rates(3001, 40, {}, {.flow_rates = true}, 2000);
}

// Rates and bursts of flows, full queues, CoDel, ages, few places for flows, drains, and a caller that is late or is not: of what
// was taken nothing is lost or comes twice, each flow stays in order and within its rate, and nothing sleeps for ever.
TEST(SchedulerProperty, LosesNothingWhateverComesAndGoes) {
  double excess = 0;
  std::uint64_t sent = 0;
  std::uint64_t too_old = 0;
  std::uint64_t congested = 0;
  std::uint64_t drained = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomRateTree tree(seed, {.levels = 3, .link_rate = seed % 5 != 0});
    const auto rate = static_cast<double>(tree.rate());
    const Duration item = time_of_items(1, rate);
    ScheduledTree scheduled(tree.nodes());
    std::mt19937_64 random(seed);
    for (Scheduler::Class& each : scheduled.config.classes) {
      const double part = std::uniform_real_distribution<double>(0.01, 0.5)(random);
      if (random() % 2 == 0) each.flow_rate.bits = BitRate{1 + static_cast<std::uint64_t>(rate * part)};
      if (random() % 4 == 0)
        each.flow_rate.packets =
            PacketRate{1 + static_cast<std::uint64_t>(1e9 * part / static_cast<double>(item.count()))};
      if (random() % 2 == 0) each.flow_rate.burst = DataSize{random() % 10'000};
      if (random() % 2 == 0) each.flow_rate.burst_packets = random() % 8;
      each.queue.items = 1 + random() % 20;
      if (random() % 2 == 0) each.queue.bytes = DataSize{1500 + random() % 10'000};
      if (random() % 2 == 0) each.queue.longest_wait = (1 + random() % 50) * item;
      if (random() % 2 == 0) each.codel = {(1 + random() % 5) * item, (1 + random() % 20) * item};
      each.quantum = 1 + random() % 3000;
    }
    scheduled.config.max_items = static_cast<std::uint32_t>(5 + random() % 100);
    scheduled.config.max_flows = static_cast<std::uint32_t>(1 + random() % 12);
    const bool late = seed % 3 == 0;
    scheduled.config.catch_up = late && seed % 2 == 1 ? 0ns : 5 * item;
    SchedulerDriver driver(scheduled.config, {.seed = seed, .late = late ? 3 * item : 0ns});
    for (int change = 0; change < 300; ++change) {
      const auto number = static_cast<std::uint32_t>(random() % scheduled.config.classes.size());
      ItemSource source{
          .rate = static_cast<std::uint64_t>(rate * std::uniform_real_distribution<double>(0, 0.6)(random)),
          .saturating = tree.nodes()[kLink].ceiling && random() % 4 == 0,
          .waiting = 1 + random() % 30};
      if (random() % 3 == 0) source = {};
      driver.set_source({number, random() % 4}, source);
      for (std::uint64_t drains = random() % 16; drains > 13 && seed % 4 != 1; --drains) driver.drain_some();
      driver.run_for(
          Duration{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(10 * item.count()))});
    }
    for (std::uint32_t number = 0; number < scheduled.config.classes.size(); ++number)
      for (std::uint64_t name = 0; name < 4; ++name) driver.set_source({number, name}, {});
    if (seed % 2 == 0) driver.drain_all();
    driver.run_for(400 * 24h);
    EXPECT_EQ(driver.scheduler().items(), 0U);
    excess = std::max(excess, driver.worst_excess());
    sent += driver.sent();
    too_old += driver.too_old();
    congested += driver.congested();
    drained += driver.drained();
    refused += driver.refused();
    if (testing::Test::HasFailure()) break;
  }
  for (const std::uint64_t count : {sent, too_old, congested, drained, refused}) EXPECT_GT(count, 1000U);
  record(0, excess, sent);
  testing::Test::RecordProperty("too_old", std::to_string(too_old));
  testing::Test::RecordProperty("congested", std::to_string(congested));
  testing::Test::RecordProperty("drained", std::to_string(drained));
  testing::Test::RecordProperty("refused", std::to_string(refused));
}

}  // namespace
}  // namespace headgate
