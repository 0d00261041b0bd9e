#include "limiters/codel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace headgate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;

constexpr Codel::Law kLaw{.target = milliseconds(5), .interval = milliseconds(100)};
constexpr Instant kStart{seconds(1)};

std::int64_t in_microseconds(Duration duration) {
  return (duration.count() + 500) / 1000;
}

// A packet leaves each millisecond, and every one has waited 20 ms. Returns when one went, since the start.
std::vector<Duration> drops_of_a_standing_queue(Codel& codel, Duration time, Instant start = kStart) {
  std::vector<Duration> drops;
  for (Instant now = start; now < start + time; now += milliseconds(1))
    while (codel.is_one_too_many(milliseconds(20), false, kLaw, now)) drops.push_back(now - start);
  return drops;
}

TEST(Codel, IntervalsShrinkWithTheSquareRoot) {
  std::vector<std::int64_t> intervals;
  for (std::uint32_t count = 1; count <= 4; ++count)
    intervals.push_back(in_microseconds(codel_interval(milliseconds(100), count)));
  EXPECT_THAT(intervals, ElementsAre(100'000, 70'711, 57'735, 50'000));
}

TEST(Codel, DropsAfterAnIntervalAndThenFaster) {
  Codel codel;
  // 100 ms above the target; then 100, 70.7, 57.7, 50 ms more, each at the first packet behind that time.
  EXPECT_THAT(drops_of_a_standing_queue(codel, milliseconds(390)),
              ElementsAre(milliseconds(100), milliseconds(200), milliseconds(271), milliseconds(329),
                          milliseconds(379)));
}

TEST(Codel, LeavesAShortQueueAlone) {
  Codel codel;
  for (Instant now = kStart; now < kStart + seconds(10); now += milliseconds(1))
    EXPECT_FALSE(codel.is_one_too_many(milliseconds(4), false, kLaw, now));
}

TEST(Codel, LeavesTheLastPacketAlone) {
  Codel codel;
  for (Instant now = kStart; now < kStart + seconds(10); now += milliseconds(1))
    EXPECT_FALSE(codel.is_one_too_many(seconds(1), true, kLaw, now));
}

TEST(Codel, OnePacketBelowTheTargetEndsIt) {
  Codel codel;
  drops_of_a_standing_queue(codel, milliseconds(250));
  EXPECT_TRUE(codel.dropping);
  EXPECT_FALSE(codel.is_one_too_many(milliseconds(4), false, kLaw, kStart + milliseconds(250)));
  EXPECT_FALSE(codel.dropping);
}

// Soon after, it begins at the pace that it had.
TEST(Codel, RemembersItsPace) {
  Codel codel;
  const std::size_t before = drops_of_a_standing_queue(codel, seconds(1)).size();
  EXPECT_FALSE(codel.is_one_too_many(milliseconds(1), false, kLaw, kStart + seconds(1)));
  const auto again =
      drops_of_a_standing_queue(codel, milliseconds(150), kStart + seconds(1) + milliseconds(1));
  ASSERT_GE(again.size(), 2U);
  EXPECT_EQ(again[0], milliseconds(100));
  EXPECT_NEAR(static_cast<double>((again[1] - again[0]).count()), 100e6 / std::sqrt(before - 1.0), 2e6);
}

TEST(Codel, ForgetsItsPaceInTime) {
  Codel codel;
  drops_of_a_standing_queue(codel, seconds(1));
  EXPECT_FALSE(codel.is_one_too_many(milliseconds(1), false, kLaw, kStart + seconds(1)));
  const auto again = drops_of_a_standing_queue(codel, milliseconds(250), kStart + seconds(10));
  EXPECT_THAT(again, ElementsAre(milliseconds(100), milliseconds(200)));
}

}  // namespace
}  // namespace headgate
