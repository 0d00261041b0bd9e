// Workers and sums of a pattern, without the kernel.
#include "pattern_shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/compiled_matches.hpp"
#include "linux/mapped_memory.hpp"
#include "support/shaper_harness.hpp"
#include "wanted_instances.hpp"

namespace headgate {
namespace {

using testing::ElementsAre;

ShapeConfig pattern_config() {
  ShapeConfig config;
  config.interface = "none*";
  config.segmentation = Segmentation::whole;  // ordinary threads
  config.classes = {{.name = "bypassed", .bypass = true},
                    {.name = "all", .rate = {.packets = PacketRate{1000}}, .burst = {.packets = 1}}};
  return config;
}

// An instance as it is shown, at two workers.
struct Instance {
  explicit Instance(const std::string& interface) {
    statistics.interface = interface;
    statistics.diverting = true;
    statistics.divert = DivertMethod::clsact;
    for (ShaperReading& reading : readings) {
      reading.statistics.classes = {ClassStatistics{.name = "bypassed"}, ClassStatistics{.name = "all"}};
      reading.delays.resize(2);
    }
  }

  // Packets of the class "all" at one of the workers.
  void count(std::size_t worker, std::uint64_t sent, std::uint64_t dropped, std::uint64_t queued) {
    ShaperStatistics& shaper = readings[worker].statistics;
    const auto add = [&](auto& counters) {
      counters.received += Count{sent + dropped + queued, 100 * (sent + dropped + queued)};
      counters.sent += Count{sent, 100 * sent};
      counters.dropped[0] += Count{dropped, 100 * dropped};
      counters.queued += Count{queued, 100 * queued};
    };
    add(shaper);
    add(shaper.classes[1]);
    shaper.classes[1].flows = 1;
  }

  PatternShape::Counted counted() const { return {statistics, readings}; }

  ShapeStatistics statistics;
  std::vector<ShaperReading> readings{2};
};

class PatternShapeTest : public testing::Test {
 protected:
  PatternStatistics sums(const std::vector<PatternShape::Counted>& instances = {}) {
    PatternStatistics result = pattern.statistics(instances, DivertMethod::automatic);
    expect_law(result.sum.shaper);
    return result;
  }

  MappedMemory memory{false};
  CompiledMatches matches;
  SharedDivert common{DivertMethod::automatic, 1, 1};
  WorkerSet workers{4, memory, [](const std::string&) {}, [] {}};
  DaemonConfig daemon;
  PatternShape pattern{pattern_config()};
};

TEST_F(PatternShapeTest, IsShownWithoutAnInstance) {
  const PatternStatistics shown = sums();
  EXPECT_EQ(shown.sum.interface, "none*");
  EXPECT_EQ(shown.sum.config.pattern, "none*");
  EXPECT_FALSE(shown.sum.diverting);
  EXPECT_EQ(shown.sum.state, "");
  ASSERT_EQ(shown.sum.shaper.classes.size(), 2u);
  EXPECT_EQ(shown.sum.shaper.classes[1].name, "all");
  EXPECT_TRUE(shown.interfaces.empty());
}

TEST_F(PatternShapeTest, ServesAllInstancesByTheSameWorkers) {
  ShapeConfig config = pattern_config();
  config.workers = 2;
  PatternShape two(config);
  const SharedSeats first = two.seats(workers, daemon, false);
  ASSERT_EQ(first.threads.size(), 2u);
  EXPECT_NE(first.threads[0], first.threads[1]);
  ASSERT_EQ(first.budgets.size(), 2u);
  const SharedSeats& second = two.seats(workers, daemon, true);
  EXPECT_EQ(second.threads, first.threads);
  EXPECT_EQ(second.budgets, first.budgets);
  EXPECT_NE(two.seats(workers, daemon, false).budgets, first.budgets);
}

TEST_F(PatternShapeTest, AnInstanceIsServedWhereItsPatternIs) {
  const SharedSeats& seats = pattern.seats(workers, daemon, false);
  Shape shape(
      common, daemon, instance_of(pattern.config(), "none1"), matches, workers, memory,
      CaptureShare::of_one_in(1), [](const std::string&) {}, &seats);
  shape.start(true);
  EXPECT_TRUE(pattern.has(shape));
  EXPECT_EQ(seats.threads[0]->shapes(), 1u);
  shape.ask_for_statistics();
  const ShapeStatistics shown = shape.statistics(MonotonicClock().now() + std::chrono::seconds(5));
  const PatternStatistics sum = sums({{shown, shape.readings()}});
  EXPECT_THAT(sum.interfaces, ElementsAre("none1"));
  EXPECT_EQ(sum.sum.state, "none1: there is no interface none1 yet");
  EXPECT_FALSE(sum.sum.diverting);
}

TEST_F(PatternShapeTest, SumsItsInstances) {
  Instance two("none2"), one("none1");
  two.count(0, 1, 2, 3);
  two.count(1, 10, 20, 30);
  one.count(0, 100, 200, 300);
  two.statistics.unshaped = {.packets = 5, .times = 1};
  one.statistics.lost_ring = 7;
  const PatternStatistics shown = sums({two.counted(), one.counted()});
  EXPECT_THAT(shown.interfaces, ElementsAre("none1", "none2"));
  EXPECT_EQ(shown.sum.shaper.received, (Count{666, 66'600}));
  EXPECT_EQ(shown.sum.shaper.classes[1].sent, (Count{111, 11'100}));
  EXPECT_EQ(shown.sum.shaper.classes[1].queued, (Count{333, 33'300}));
  EXPECT_EQ(shown.sum.shaper.classes[1].flows, 3u);
  EXPECT_EQ(shown.sum.unshaped.packets, 5u);
  EXPECT_EQ(shown.sum.lost_ring, 7u);
  EXPECT_EQ(shown.sum.divert, DivertMethod::clsact);
  EXPECT_TRUE(shown.sum.diverting);
}

TEST_F(PatternShapeTest, IsDivertingWhileAllAreAndSaysWhatIsWrong) {
  Instance one("none1"), two("none2");
  two.statistics.diverting = false;
  two.statistics.state = "the interface is down";
  const PatternStatistics shown = sums({one.counted(), two.counted()});
  EXPECT_FALSE(shown.sum.diverting);
  EXPECT_EQ(shown.sum.state, "none2: the interface is down");
}

TEST_F(PatternShapeTest, KeepsWhatInstancesThatAreGoneHaveCounted) {
  Instance goes("none1"), stays("none2");
  goes.count(0, 1, 2, 3);
  goes.count(1, 0, 0, 4);
  goes.statistics.unshaped.packets = 5;
  goes.statistics.hooks.unshapable = {6, 600};
  stays.count(0, 10, 20, 30);
  pattern.take_in(goes.counted());
  const PatternStatistics shown = sums({stays.counted()});
  EXPECT_THAT(shown.interfaces, ElementsAre("none2"));
  const ClassStatistics& all = shown.sum.shaper.classes[1];
  EXPECT_EQ(all.received.packets, 70u);
  EXPECT_EQ(all.sent.packets, 11u);
  EXPECT_EQ(all.queued.packets, 30u);
  EXPECT_EQ(dropped_for(all, DropReason::stop).packets, 7u) << "what was queued";
  EXPECT_EQ(all.flows, 1u);
  EXPECT_EQ(shown.sum.unshaped.packets, 5u);
  EXPECT_EQ(shown.sum.hooks.unshapable.packets, 6u);
  EXPECT_EQ(sums().sum.shaper.received.packets, 10u);
}

TEST_F(PatternShapeTest, CountsOfClassesThatAReloadRemovesStayInTheTotals) {
  Instance goes("none1");
  goes.count(0, 1, 2, 3);
  pattern.take_in(goes.counted());
  ShapeConfig next = pattern_config();
  next.classes.pop_back();
  pattern.reconfigure(next);
  EXPECT_EQ(sums().sum.shaper.classes.size(), 1u);
  pattern.reconfigure(pattern_config());
  const PatternStatistics shown = sums();
  EXPECT_EQ(shown.sum.shaper.classes[1].received, Count{});
  EXPECT_EQ(shown.sum.shaper.received.packets, 6u);
}

TEST_F(PatternShapeTest, SaysWhatCannotBeShaped) {
  pattern.refusals()[7] = {"none-odd", "it has no frames", {}};
  const PatternStatistics shown = sums();
  EXPECT_THAT(shown.not_shaped, ElementsAre(UnshapedInterface{"none-odd", "it has no frames"}));
  EXPECT_EQ(shown.sum.state, "none-odd: cannot be shaped: it has no frames");
}

TEST_F(PatternShapeTest, KeepsWhatIsFixedAtTheStartWhenItIsReconfigured) {
  ShapeConfig next = pattern_config();
  next.workers = 3;
  next.classes.erase(next.classes.begin());
  next.classes.push_back({.name = "more", .rate = {.packets = PacketRate{1}}, .burst = {.packets = 1}});
  EXPECT_TRUE(pattern.is_same(next));
  pattern.reconfigure(next);
  EXPECT_EQ(pattern.config().workers, 1u);
  const PatternStatistics shown = sums();
  ASSERT_EQ(shown.sum.shaper.classes.size(), 2u);
  EXPECT_EQ(shown.sum.shaper.classes[0].name, "all");
  EXPECT_EQ(shown.sum.shaper.classes[1].name, "more");
}

}  // namespace
}  // namespace headgate
