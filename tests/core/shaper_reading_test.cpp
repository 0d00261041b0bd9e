#include "core/shaper_reading.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;

TEST(ShaperReading, SumsWhatSeveralShapersHaveCounted) {
  const std::vector<ClassConfig> classes{shaped_class("first", packets_per_second(10), {.packets = 3}),
                                         shaped_class("second", packets_per_second(10))};
  ShaperHarness one(classes), other(classes);
  for (int i = 0; i < 10; ++i) one.arrive(1);
  for (int i = 0; i < 3; ++i) other.arrive(2);
  other.arrive(3, 100, 1);
  other.shaper.count_unshaped(kUnmatched, {5, 500}, {5, 500}, {});
  one.run(kTestStart + milliseconds(100));
  other.run(kTestStart + milliseconds(100));

  const ShaperStatistics sum =
      sum_of({reading_of(one.shaper.shaper, one.now), reading_of(other.shaper.shaper, other.now)});
  expect_law(sum);
  EXPECT_EQ(sum.received.packets, 19u);
  EXPECT_EQ(sum.received.bytes, 1900u);
  EXPECT_EQ(sum.unmatched.packets, 5u);
  ASSERT_EQ(sum.classes.size(), 2u);
  EXPECT_EQ(sum.classes[0].flows, 2u);
  EXPECT_EQ(sum.classes[0].received.packets, 13u);
  EXPECT_EQ(sum.classes[0].sent.packets, 4u);
  EXPECT_EQ(dropped_for(sum.classes[0], DropReason::queue_full).packets, 6u);
  EXPECT_EQ(sum.classes[0].queued.packets, 3u);
  EXPECT_EQ(sum.classes[0].delay.max, milliseconds(100));
  const auto& delays = sum.classes[0].delays.packets;
  EXPECT_EQ(std::accumulate(delays.begin(), delays.end(), std::uint64_t{0}), 4u);
  EXPECT_EQ(sum.classes[1].sent.packets, 1u);
  EXPECT_EQ(sum.classes[1].delay.max, Duration::zero());
}

TEST(ShaperReading, SumsTheShiftsOfAllSchedules) {
  const std::vector<ClassConfig> classes{shaped_class("all", packets_per_second(10))};
  ShaperHarness one(classes), other(classes);
  one.arrive(1);
  other.arrive(1);
  one.now += milliseconds(30);
  other.now += milliseconds(50);
  one.release();
  other.release();
  const ShaperStatistics sum =
      sum_of({reading_of(one.shaper.shaper, one.now), reading_of(other.shaper.shaper, other.now)});
  EXPECT_EQ(sum.shifts, (ScheduleShifts{.times = 2, .total = milliseconds(20 + 40)}));
}

TEST(ShaperReading, OfOneShaperIsWhatThatSays) {
  ShaperHarness one({shaped_class("all", packets_per_second(10))});
  for (int i = 0; i < 3; ++i) one.arrive(1);
  one.run();
  const ShaperStatistics sum = sum_of({reading_of(one.shaper.shaper, one.now)});
  const ShaperStatistics own = one.statistics();
  EXPECT_EQ(sum.classes[0].delay.p50, own.classes[0].delay.p50);
  EXPECT_EQ(sum.classes[0].delay.p99, own.classes[0].delay.p99);
  EXPECT_EQ(sum.classes[0].delay.max, own.classes[0].delay.max);
  EXPECT_EQ(sum.sent, own.sent);
}

}  // namespace
}  // namespace headgate
