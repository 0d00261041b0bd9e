#include "core/delay_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(DelayHistogram, IsZeroWithoutPackets) {
  const DelayHistogram histogram;
  const DelaySummary summary = histogram.summary(kTestStart);
  EXPECT_EQ(summary.p50, Duration::zero());
  EXPECT_EQ(summary.p99, Duration::zero());
  EXPECT_EQ(summary.max, Duration::zero());
}

TEST(DelayHistogram, ReportsASinglePacketExactly) {
  DelayHistogram histogram;
  histogram.record(Duration(1'234'567), 1, kTestStart);
  const DelaySummary summary = histogram.summary(kTestStart);
  EXPECT_EQ(summary.max, Duration(1'234'567));
  EXPECT_EQ(summary.p50, summary.max);
  EXPECT_EQ(summary.p99, summary.max);
}

TEST(DelayHistogram, TellsTheMedianFromTheTail) {
  DelayHistogram histogram;
  histogram.record(microseconds(8), 98, kTestStart);
  histogram.record(milliseconds(50), 2, kTestStart);
  const DelaySummary summary = histogram.summary(kTestStart);
  EXPECT_EQ(summary.p50, microseconds(9));  // the bucket ends there
  EXPECT_EQ(summary.p99, milliseconds(50));
}

TEST(DelayHistogram, NeverReportsAPercentileTooLowNorASixteenthTooHigh) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    DelayHistogram histogram;
    std::vector<Duration> delays;
    for (int i = 0; i < 1000; ++i) {
      delays.emplace_back(random() % (std::uint64_t{1} << (10 + random() % 35)));
      histogram.record(delays.back(), 1, kTestStart);
    }
    std::sort(delays.begin(), delays.end());
    const DelaySummary summary = histogram.summary(kTestStart);
    EXPECT_EQ(summary.max, delays.back());
    for (const auto& [reported, exact] : {std::pair{summary.p50, delays[499]}, {summary.p99, delays[989]}}) {
      EXPECT_GE(reported, exact);
      EXPECT_LE(reported, exact + std::max<Duration>(exact / 16, microseconds(1)));
    }
  }
}

TEST(DelayHistogram, ForgetsWhatIsTenSecondsOld) {
  DelayHistogram histogram;
  const Instant whole_second{seconds(1'000'000)};
  histogram.record(milliseconds(7), 1, whole_second);
  EXPECT_EQ(histogram.summary(whole_second + seconds(10) - Duration(1)).max, milliseconds(7));
  EXPECT_EQ(histogram.summary(whole_second + seconds(10)).max, Duration::zero());
}

TEST(DelayHistogram, ReusesASliceCleanly) {
  DelayHistogram histogram;
  const Instant whole_second{seconds(1'000'000)};
  histogram.record(milliseconds(7), 1'000, whole_second);
  histogram.record(milliseconds(1), 1, whole_second + seconds(10));
  EXPECT_EQ(histogram.summary(whole_second + seconds(10)).p99, milliseconds(1));
}

TEST(DelayHistogram, TakesAnyDelay) {
  DelayHistogram histogram;
  histogram.record(Duration(-5), 1, kTestStart);
  EXPECT_EQ(histogram.summary(kTestStart).max, Duration::zero());
  histogram.record(Duration::max(), 10, kTestStart);
  EXPECT_EQ(histogram.summary(kTestStart).max, Duration::max());
  EXPECT_EQ(histogram.summary(kTestStart).p99, microseconds(std::int64_t{1} << 38));
}

TEST(DelayHistogram, AddsUpAsIfAllHadBeenRecordedInOne) {
  DelayHistogram all, one, other;
  for (int i = 0; i < 1000; ++i) {
    const Duration delay = microseconds(37 * i);
    all.record(delay, 1, kTestStart);
    (i % 3 == 0 ? one : other).record(delay, 1, kTestStart);
  }
  DelayCounts sum = one.counts(kTestStart);
  sum += other.counts(kTestStart);
  const DelaySummary expected = all.summary(kTestStart);
  EXPECT_EQ(sum.summary().p50, expected.p50);
  EXPECT_EQ(sum.summary().p99, expected.p99);
  EXPECT_EQ(sum.summary().max, expected.max);
}

TEST(DelayHistogram, TotalsHoldEachPacketOnceForAllTime) {
  DelayHistogram histogram;
  DelayTotals before;
  std::uint64_t packets = 0;
  for (int second = 0; second < 35; ++second) {
    histogram.record(milliseconds(3), 7, kTestStart + seconds(second));
    packets += 7;
    const DelayTotals totals = histogram.totals();
    EXPECT_EQ(std::accumulate(totals.packets.begin(), totals.packets.end(), std::uint64_t{0}), packets);
    EXPECT_EQ(totals.microseconds, packets * 3'000);
    for (std::size_t i = 0; i < totals.packets.size(); ++i) EXPECT_GE(totals.packets[i], before.packets[i]);
    before = totals;
  }
}

TEST(DelayHistogram, TotalsEndAtTheirBoundsExactly) {
  for (std::size_t i = 0; i < DelayTotals::kBounds; ++i) {
    DelayHistogram histogram;
    histogram.record(DelayTotals::bound(i) - Duration(1), 1, kTestStart);
    histogram.record(DelayTotals::bound(i), 1, kTestStart);
    DelayTotals expected;
    expected.packets[i] = expected.packets[i + 1] = 1;
    expected.microseconds = histogram.totals().microseconds;
    EXPECT_EQ(histogram.totals(), expected) << i;
  }
  DelayHistogram histogram;
  histogram.record(Duration::zero(), 1, kTestStart);
  EXPECT_EQ(histogram.totals().packets.front(), 1u);
}

}  // namespace
}  // namespace headgate
