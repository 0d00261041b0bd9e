// Classes in a tree, by way of the shaper: who sends when, what becomes of queues, and what a change leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/congestion_mark.hpp"
#include "support/packet_builder.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMegabit = 1'000'000;

ClassConfig plain_class(std::string name, TreePlace place = {}) {
  ClassConfig config = shaped_class(std::move(name), {}, {.packets = 1'000'000});
  config.place = std::move(place);
  return config;
}

ClassConfig fair_class(std::string name, TreePlace place = {}) {
  ClassConfig config = plain_class(std::move(name), std::move(place));
  config.fair = true;
  return config;
}

TreeConfig link_of(std::uint64_t megabits, std::vector<GroupConfig> groups = {}) {
  return {.rate = BitRate{megabits * kMegabit}, .groups = std::move(groups)};
}

// A shaper whose worker is awake whenever something may be due.
class TreeHarness : public ShaperHarness {
 public:
  TreeHarness(std::vector<ClassConfig> class_configs, TreeConfig tree_config, ShaperLimits limits = {})
      : ShaperHarness(std::move(class_configs), limits, tree_config), tree(std::move(tree_config)) {}

  std::vector<Departure> run_for(Duration time) {
    const Instant end = now + time;
    std::vector<Departure> departures;
    while (const auto next = shaper.next_release()) {
      if (*next > end) break;
      const bool again = *next <= now;
      now = std::max(now, *next);
      const std::vector<Departure> more = release();
      EXPECT_FALSE(again && more.empty() && shaper.next_release() && *shaper.next_release() <= now)
          << "what was said to be due is not";
      departures.insert(departures.end(), more.begin(), more.end());
    }
    now = end;
    return departures;
  }

  // So many packets of each flow of a class, at once.
  void fill(ClassIndex index, std::size_t packets, std::uint32_t flow = 0, std::size_t bytes = 1250) {
    for (std::size_t i = 0; i < packets; ++i) arrive(flow, bytes, index);
  }

  double megabits_sent(ClassIndex index, Duration time) {
    const Count sent = class_statistics(index).sent;
    return static_cast<double>(sent.bytes) * 8e3 / static_cast<double>(time.count());
  }

  void change_to(std::vector<ClassConfig> next, TreeConfig next_tree) {
    shaper.reconfigure(
        next, [](ArrivingPacket& packet) { packet.class_index = kUnmatched; }, now, {}, next_tree);
    classes = std::move(next);
    tree = std::move(next_tree);
    expect_law(statistics());
  }

  TreeConfig tree;
};

TEST(TreeShaper, ClassesShareTheLinkByWeight) {
  TreeHarness shaper({plain_class("one"), plain_class("three", {.weight = 3})}, link_of(20));
  for (const ClassIndex index : {0, 1}) shaper.fill(index, 2'000);
  const auto departures = shaper.run_for(seconds(1));
  EXPECT_NEAR(shaper.megabits_sent(0, seconds(1)), 5, 0.02);
  EXPECT_NEAR(shaper.megabits_sent(1, seconds(1)), 15, 0.02);
  for (std::size_t i = 1; i < departures.size(); ++i)
    EXPECT_EQ(departures[i].ideal - departures[i - 1].ideal, microseconds(500));
}

TEST(TreeShaper, PriorityGoesFirstAndGuaranteesBeforeIt) {
  ClassConfig guaranteed = plain_class("guaranteed", {.priority = 7});
  guaranteed.guarantee = BitRate{2 * kMegabit};
  TreeHarness shaper({plain_class("first", {.ceiling = BitRate{12 * kMegabit}, .priority = 0}),
                      plain_class("second"), guaranteed},
                     link_of(20));
  for (const ClassIndex index : {0, 1, 2}) shaper.fill(index, 2'200);
  shaper.run_for(seconds(1));
  EXPECT_NEAR(shaper.megabits_sent(0, seconds(1)), 12, 0.02);
  EXPECT_NEAR(shaper.megabits_sent(1, seconds(1)), 6, 0.02);
  EXPECT_NEAR(shaper.megabits_sent(2, seconds(1)), 2, 0.02);
  const ClassStatistics statistics = shaper.class_statistics(2);
  EXPECT_EQ(statistics.guaranteed, statistics.sent);
  EXPECT_EQ(shaper.class_statistics(1).guaranteed, Count{});
}

TEST(TreeShaper, AGroupHasACeiling) {
  TreeHarness shaper(
      {plain_class("a", {.parent = "inner"}), plain_class("b", {.parent = "outer"}), plain_class("rest")},
      link_of(20, {{"outer", {.ceiling = BitRate{8 * kMegabit}}},
                   {"inner", {.parent = "outer", .ceiling = BitRate{2 * kMegabit}}}}));
  for (const ClassIndex index : {0, 1, 2}) shaper.fill(index, 2'200);
  shaper.run_for(seconds(1));
  EXPECT_NEAR(shaper.megabits_sent(0, seconds(1)), 2, 0.02);
  EXPECT_NEAR(shaper.megabits_sent(1, seconds(1)), 6, 0.02);
  EXPECT_NEAR(shaper.megabits_sent(2, seconds(1)), 12, 0.02);
  EXPECT_EQ(shaper.class_statistics(0).held_by, "inner");
}

TEST(TreeShaper, FlowsOfAFairClassGetTheSameBytes) {
  TreeHarness shaper({fair_class("all")}, link_of(20));
  const std::map<std::uint32_t, std::size_t> bytes{{1, 64}, {2, 500}, {3, 1500}, {4, 9000}};
  for (const auto& [flow, size] : bytes) shaper.fill(0, 700'000 / size, flow, size);
  std::map<std::uint32_t, std::uint64_t> sent;
  for (const Departure& each : shaper.run_for(seconds(1)))
    sent[each.packet.flow] += bytes.at(each.packet.flow);
  for (const auto& [flow, total] : sent) EXPECT_NEAR(static_cast<double>(total), 625'000, 10'000) << flow;
}

TEST(TreeShaper, ANewFlowNeedNotWaitAndNobodyGainsByAnEmptyQueue) {
  TreeHarness shaper({fair_class("all")}, link_of(10));
  for (std::uint32_t flow = 1; flow <= 20; ++flow) shaper.fill(0, 400, flow);
  shaper.run_for(milliseconds(50));
  shaper.arrive(99, 100);
  const auto soon = shaper.run_for(milliseconds(2));
  EXPECT_TRUE(
      std::any_of(soon.begin(), soon.end(), [](const Departure& each) { return each.packet.flow == 99; }));
  // One that sends the next packet whenever the last has left gets no more than the others.
  std::size_t greedy = 0, all = 0;
  shaper.arrive(77, 1250);
  for (int i = 0; i < 3'000; ++i) {
    for (const Departure& each : shaper.run_for(microseconds(500))) {
      ++all;
      if (each.packet.flow != 77) continue;
      ++greedy;
      shaper.arrive(77, 1250);
    }
  }
  EXPECT_LE(greedy, all / 20 + 2);
}

TEST(TreeShaper, ABucketInATreeKeepsItsSpacing) {
  ClassConfig slow = plain_class("slow");
  slow.rate = packets_per_second(100);
  TreeHarness shaper({slow, plain_class("rest")}, link_of(10));
  shaper.fill(1, 2'000);
  for (std::uint32_t flow = 1; flow <= 20; ++flow) shaper.fill(0, 50, flow, 200);
  std::map<std::uint32_t, std::vector<Instant>> departures;
  for (const Departure& each : shaper.run_for(milliseconds(400)))
    if (each.packet.flow != 0) departures[each.packet.flow].push_back(each.ideal);
  ASSERT_EQ(departures.size(), 20U);
  for (const auto& [flow, times] : departures) {
    EXPECT_GE(times.size(), 35U);
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], milliseconds(10));
  }
}

TEST(TreeShaper, ATimeLimitBoundsTheTrueWait) {
  ClassConfig hurried = plain_class("hurried", {.priority = 7});
  hurried.queue = {.time = milliseconds(20)};
  TreeHarness shaper({hurried, plain_class("rest")}, link_of(10));
  shaper.fill(0, 10);
  shaper.fill(1, 30);  // 30 ms
  const auto departures = shaper.run_for(milliseconds(100));
  EXPECT_EQ(departures.size(), 30U);
  EXPECT_EQ(dropped_for(shaper.class_statistics(0), DropReason::too_old), (Count{10, 12'500}));
  EXPECT_EQ(dropped_for(shaper.class_statistics(0), DropReason::queue_full), Count{});
}

TEST(TreeShaper, CodelKeepsAStandingQueueShort) {
  ClassConfig managed = plain_class("managed");
  managed.aqm = QueueManagement::codel;
  TreeHarness shaper({managed}, link_of(10));
  // A sender that is a fifth too fast, for 20 s.
  for (int i = 0; i < 24'000; ++i) {
    shaper.arrive(1, 1250);
    shaper.run_for(Duration(833'333));
  }
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_GT(dropped_for(statistics, DropReason::aqm).packets, 1'000U);
  EXPECT_LT(statistics.queued.packets, 500U);
}

TEST(TreeShaper, CodelKeepsTheQueueOfABucketShort) {
  ClassConfig managed = plain_class("managed");
  managed.aqm = QueueManagement::codel;
  managed.rate = bits_per_second(10 * kMegabit);
  TreeHarness shaper({managed}, {});
  for (int i = 0; i < 12'000; ++i) {
    shaper.arrive(1, 1250);
    shaper.run_for(Duration(833'333));
  }
  EXPECT_GT(dropped_for(shaper.class_statistics(), DropReason::aqm).packets, 400U);
  EXPECT_LT(shaper.class_statistics().queued.packets, 500U);
}

TEST(TreeShaper, CodelLeavesASlowBucketAlone) {
  ClassConfig managed = plain_class("managed");
  managed.aqm = QueueManagement::codel;
  managed.rate = packets_per_second(10);
  TreeHarness shaper({managed}, {});
  for (int i = 0; i < 200; ++i) {
    shaper.arrive(1, 1250);
    if (i == 0) shaper.arrive(1, 1250);
    shaper.run_for(milliseconds(100));
  }
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::aqm), Count{});
  EXPECT_EQ(shaper.class_statistics().sent.packets, 201U);
}

// Frames with an IP header that is capable of ECN are marked, and none is dropped.
TEST(TreeShaper, CodelMarksWhoeverUnderstandsIt) {
  ClassConfig managed = plain_class("managed");
  managed.aqm = QueueManagement::codel;
  TreeHarness shaper({managed}, link_of(10));
  std::vector<std::byte> frame =
      PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).frame_size(1250).build();
  frame[15] = std::byte{0x02};
  for (int i = 0; i < 6'000; ++i) {
    ArrivingPacket packet = shaper.make(1, 1250, shaper.now);
    packet.frame = frame;
    shaper.admit(std::span(&packet, 1));
    shaper.run_for(Duration(833'333));
  }
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_EQ(total(statistics.dropped), Count{});
  EXPECT_GT(statistics.marked.packets, 50U);
}

TEST(TreeShaper, L4sPacketsAreMarkedEarly) {
  ClassConfig managed = plain_class("managed");
  managed.aqm = QueueManagement::codel;
  TreeHarness shaper({managed}, link_of(10));
  std::vector<std::byte> frame =
      PacketBuilder().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).frame_size(1250).build();
  frame[15] = std::byte{0x01};
  for (int i = 0; i < 4; ++i) {
    ArrivingPacket packet = shaper.make(1, 1250, shaper.now);
    packet.frame = frame;
    shaper.admit(std::span(&packet, 1));
  }
  shaper.run_for(milliseconds(10));  // they wait 0, 1, 2 and 3 ms
  EXPECT_EQ(shaper.class_statistics().marked.packets, 2U);
}

TEST(TreeShaper, AFullQueueDropsWhatArrives) {
  ClassConfig small = plain_class("small");
  small.queue = {.packets = 5};
  TreeHarness shaper({small}, link_of(10));
  shaper.fill(0, 8);
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::queue_full).packets, 3U);
  EXPECT_EQ(shaper.run_for(seconds(1)).size(), 5U);
}

// A rate that was far too low does not hold up what comes after it is mended.
TEST(TreeShaper, ABetterRateHoldsAtOnce) {
  for (const bool of_link : {true, false}) {
    TreeConfig slow = of_link ? TreeConfig{.rate = BitRate{1}, .groups = {}} : link_of(10);
    ClassConfig low = plain_class("a");
    if (!of_link) low.place.ceiling = BitRate{1};
    TreeHarness shaper({low}, slow);
    shaper.fill(0, 100);
    shaper.run_for(seconds(1));
    EXPECT_EQ(shaper.statistics().sent.packets, 1U);
    shaper.change_to({plain_class("a")}, link_of(10));
    shaper.run_for(milliseconds(100));
    EXPECT_EQ(shaper.statistics().sent.packets, 100U) << of_link;
  }
}

// With more flows than there are records, those that have nothing to lose make room.
TEST(TreeShaper, AFullTableIsNoHindranceForNewFlows) {
  TreeHarness shaper({fair_class("all")}, link_of(10), {.max_flows = 10});
  for (std::uint32_t flow = 1; flow <= 1'000; ++flow) {
    shaper.arrive(flow, 1250);
    shaper.run_for(milliseconds(20));
  }
  EXPECT_EQ(shaper.statistics().sent.packets, 1'000U);
}

// Out of the tree, back, and to another tree, with packets in the queues.
TEST(TreeShaper, AChangeLosesNothingAndKeepsTheLinksTime) {
  TreeHarness shaper({plain_class("a"), fair_class("b")}, link_of(10));
  shaper.fill(0, 100);
  for (std::uint32_t flow = 1; flow <= 5; ++flow) shaper.fill(1, 20, flow);
  shaper.run_for(milliseconds(10));
  for (int i = 0; i < 50; ++i) {  // a change restarts no clock
    shaper.change_to({plain_class("a"), fair_class("b")}, link_of(10));
    shaper.run_for(microseconds(100));
  }
  const std::uint64_t sent = shaper.statistics().sent.packets;
  EXPECT_LE(sent, 17U);
  EXPECT_GE(sent, 15U);
  ClassConfig flat = plain_class("a");
  flat.rate = packets_per_second(1000);
  ClassConfig other = plain_class("b");
  other.rate = packets_per_second(1000);
  shaper.change_to({flat, other}, {});
  shaper.run_for(milliseconds(10));
  shaper.change_to({plain_class("a", {.parent = "g"}), fair_class("b")}, link_of(20, {{"g", {}}}));
  shaper.run_for(seconds(10));
  EXPECT_EQ(shaper.statistics().sent.packets, 200U);
  EXPECT_EQ(shaper.statistics().queued, Count{});
}

// More queues of buckets than a schedule has turns for from the start.
class ManyQueues : public TreeHarness {
 public:
  static constexpr std::uint32_t kFlows = 3'000;

  ManyQueues() : TreeHarness({slow()}, {}) {
    std::vector<PacketIdentity> packets;
    for (std::uint32_t serial = 0; serial < 2; ++serial)
      for (std::uint32_t flow = 1; flow <= kFlows; ++flow) packets.push_back({flow, serial});
    arrive_in_batch(packets);
  }
  static ClassConfig slow() {
    ClassConfig config = plain_class("a");
    config.rate = packets_per_second(1);
    return config;
  }
};

TEST(TreeShaper, TheFirstTreeTakesTheQueuesThatItFinds) {
  ManyQueues shaper;
  shaper.change_to({ManyQueues::slow()}, link_of(100));
  shaper.run_for(seconds(10));
  EXPECT_EQ(shaper.statistics().sent.packets, 2 * ManyQueues::kFlows);
}

// The host has no memory for their turns: they are dropped whole, and counted.
TEST(TreeShaper, WithoutMemoryForATurnAQueueIsDroppedAsAWhole) {
  ManyQueues shaper;
  shaper.shaper.memory.limit = shaper.shaper.memory.used();
  shaper.change_to({ManyQueues::slow()}, link_of(100));
  shaper.run_for(seconds(10));
  const ClassStatistics statistics = shaper.class_statistics();
  EXPECT_GT(dropped_for(statistics, DropReason::pool_full).packets, 0U);
  EXPECT_EQ(statistics.queued, Count{});
}

TEST(TreeShaper, SuspendedNothingLeavesAndThenAllDoes) {
  TreeHarness shaper({plain_class("a"), fair_class("b")}, link_of(10));
  shaper.fill(0, 10);
  for (std::uint32_t flow = 1; flow <= 5; ++flow) shaper.fill(1, 2, flow);
  shaper.run_for(milliseconds(3));
  shaper.shaper.shaper.suspend();
  EXPECT_FALSE(shaper.shaper.next_release());
  shaper.now += seconds(1);
  EXPECT_TRUE(shaper.release().empty());
  shaper.shaper.shaper.resume(shaper.now);
  shaper.run_for(seconds(1));
  EXPECT_EQ(shaper.statistics().sent.packets, 20U);
}

TEST(TreeShaper, AStopTakesOutAll) {
  TreeHarness shaper({plain_class("a"), fair_class("b")}, link_of(10));
  shaper.fill(0, 10);
  for (std::uint32_t flow = 1; flow <= 5; ++flow) shaper.fill(1, 2, flow);
  shaper.run_for(milliseconds(3));
  const std::uint64_t sent = shaper.statistics().sent.packets;
  EXPECT_EQ(shaper.release_all(7).size() + sent, 20U);
  EXPECT_EQ(shaper.statistics().queued, Count{});
}

// Everything at random: the law holds at each step (the harness looks), flows keep their order, and all ends.
TEST(TreeShaper, TheLawHoldsWhateverHappens) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    const auto chance = [&](unsigned of) { return random() % of == 0; };
    const auto any_classes = [&] {
      std::vector<ClassConfig> classes;
      for (const char* name : {"a", "b", "c"}) {
        ClassConfig config = chance(2) ? fair_class(name) : plain_class(name);
        config.place = {.parent = chance(2) ? "g" : "", .priority = static_cast<std::uint8_t>(random() % 8)};
        if (chance(3)) config.place.ceiling = BitRate{(1 + random() % 20) * kMegabit};
        if (chance(3)) config.guarantee = BitRate{kMegabit};
        if (chance(3)) config.aqm = QueueManagement::codel;
        if (!config.fair && chance(2)) config.rate = packets_per_second(1 + random() % 2000);
        config.queue = {.packets = 1 + random() % 50};
        if (chance(2)) config.queue.time = milliseconds(1 + random() % 100);
        classes.push_back(config);
      }
      return classes;
    };
    const auto any_tree = [&] {
      TreeConfig tree = link_of(1 + random() % 50, {{"g", {}}});
      if (chance(2)) tree.groups[0].place.ceiling = BitRate{(4 + random() % 20) * kMegabit};
      if (chance(4)) tree.rate.reset();
      return tree;
    };
    TreeHarness shaper(any_classes(), any_tree(), {.memory = DataSize{64 * 1024}, .max_flows = 20});
    for (int step = 0; step < 200; ++step) {
      for (unsigned i = random() % 20; i > 0; --i)
        shaper.arrive(random() % 12, 64 + random() % 1450, static_cast<ClassIndex>(random() % 3));
      shaper.run_for(microseconds(random() % 5'000));
      if (chance(20)) shaper.change_to(any_classes(), any_tree());
      if (chance(50)) {
        shaper.shaper.shaper.suspend();
        shaper.now += milliseconds(random() % 50);
        shaper.shaper.shaper.resume(shaper.now);
      }
      if (chance(100)) shaper.shaper.shaper.drop_all(DropReason::overtaken);
      if (chance(100)) shaper.release_all(1 + random() % 10);
      if (HasFailure()) FAIL() << "seed " << seed << " step " << step;
    }
    shaper.run_for(seconds(1000));
    EXPECT_EQ(shaper.statistics().queued, Count{}) << "seed " << seed;
  }
}

}  // namespace
}  // namespace headgate
