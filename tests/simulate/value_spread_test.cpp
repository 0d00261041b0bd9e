#include "value_spread.hpp"

#include <gtest/gtest.h>

#include "tally.hpp"

namespace headgate {
namespace {

TEST(ValueSpread, APercentileIsAtMostASixteenthTooHigh) {
  ValueSpread spread;
  for (int i = 1; i <= 1000; ++i) spread.record(std::chrono::microseconds(i));
  EXPECT_GE(spread.percentile(0.5), std::chrono::microseconds(500));
  EXPECT_LE(spread.percentile(0.5), std::chrono::microseconds(500) * 17 / 16);
  EXPECT_GE(spread.percentile(0.99), std::chrono::microseconds(990));
  EXPECT_EQ(spread.percentile(1), std::chrono::microseconds(1000));
  EXPECT_EQ(spread.longest(), std::chrono::microseconds(1000));
}

TEST(ValueSpread, EachValueLiesInItsStep) {
  for (std::int64_t value = 0; value < 100'000; value += 7) {
    ValueSpread spread;
    spread.record(Duration(value));
    const std::size_t step = spread.counts().size() - 1;
    EXPECT_LE(ValueSpread::first_of(step), Duration(value));
    EXPECT_GT(ValueSpread::first_of(step + 1), Duration(value));
  }
}

TEST(ValueSpread, OfNothingIsZero) {
  EXPECT_EQ(ValueSpread().percentile(0.5), Duration::zero());
}

TEST(TimeSeries, WhenItIsFullEachTwoBinsBecomeOneAndNothingIsLost) {
  TimeSeries series(Instant{}, 1);
  for (int i = 0; i < 2000; ++i) ++series.bin(0, Instant{} + TimeSeries::kShortest * i).dropped;
  EXPECT_EQ(series.width(), TimeSeries::kShortest * 4);
  const auto bins = series.bins(0, Instant{} + TimeSeries::kShortest * 1999);
  EXPECT_EQ(bins.size(), 500U);
  for (const SeriesBin& bin : bins) EXPECT_EQ(bin.dropped, 4U);
}

TEST(Fairness, IsOneWhenAllGotTheSameAndOneOfNWhenOneGotAll) {
  EXPECT_DOUBLE_EQ(fairness({5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(fairness({7, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(fairness({0, 0}), 0);
}

}  // namespace
}  // namespace headgate
