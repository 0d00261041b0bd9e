#include "budget/demand_meter.hpp"

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

TEST(DemandMeter, KnowsTheBacklogOnlyAtFirst) {
  DemandMeter meter;
  EXPECT_EQ(meter.measure({1'000'000'000}, {0}, kTestStart), BitRate{0});
  DemandMeter other;
  EXPECT_EQ(other.measure({1'000'000'000}, {62'500}, kTestStart), BitRate{1'020'000}) << "1 Mbit/s and 2 %";
}

TEST(DemandMeter, WantsWhatArrivesAndTwoPercentMore) {
  DemandMeter meter;
  meter.measure({500}, {0}, kTestStart);
  EXPECT_EQ(meter.measure({500 + 250'000}, {0}, kTestStart + 250ms), BitRate{8'160'000});
}

TEST(DemandMeter, WantsToSendTheBacklogInHalfASecond) {
  DemandMeter meter;
  meter.measure({0}, {0}, kTestStart);
  EXPECT_EQ(meter.measure({250'000}, {125'000}, kTestStart + 250ms), BitRate{10'200'000});
}

TEST(DemandMeter, FallsWithATimeConstantOf50Milliseconds) {
  DemandMeter meter;
  meter.measure({0}, {0}, kTestStart);
  meter.measure({1'000'000}, {0}, kTestStart + 1s);
  const BitRate later = meter.measure({1'000'000}, {0}, kTestStart + 1050ms);
  EXPECT_NEAR(static_cast<double>(later.bits_per_second), 8'160'000 * 0.367879, 10);
  const BitRate half = meter.measure({1'000'000 + 200'000 / 2}, {0}, kTestStart + 1250ms);
  EXPECT_NEAR(static_cast<double>(half.bits_per_second), 8'160'000 / 2.0, 200'000)
      << "what comes instead counts at once";
}

TEST(DemandMeter, RisesAtOnce) {
  DemandMeter meter;
  meter.measure({0}, {0}, kTestStart);
  meter.measure({1'000}, {0}, kTestStart + 1s);
  EXPECT_EQ(meter.measure({1'001'000}, {0}, kTestStart + 2s), BitRate{8'160'000});
}

TEST(DemandMeter, TakesNoBurstOfAMomentForARate) {
  DemandMeter meter;
  meter.measure({0}, {0}, kTestStart);
  meter.measure({125'000}, {0}, kTestStart + 1s);
  EXPECT_EQ(meter.measure({1'125'000}, {0}, kTestStart + 1001ms), BitRate{1'020'000});
  EXPECT_EQ(meter.measure({1'125'000}, {0}, kTestStart + 2s), BitRate{static_cast<std::uint64_t>(8'160'000)})
      << "it is not lost either";
}

TEST(DemandMeter, BeginsAnewWithCountersThatDo) {
  DemandMeter meter;
  meter.measure({1'000'000}, {0}, kTestStart);
  EXPECT_EQ(meter.measure({10}, {0}, kTestStart + 1s), BitRate{0});
  EXPECT_EQ(meter.measure({1'000'010}, {0}, kTestStart + 2s), BitRate{8'160'000});
}

TEST(DemandMeter, WantsNoMoreThanTheLargestRate) {
  DemandMeter meter;
  EXPECT_EQ(meter.measure({0}, {UINT64_MAX}, kTestStart), kMaxBitRate);
}

}  // namespace
}  // namespace headgate
