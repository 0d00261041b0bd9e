#include "headgate/interval_bucket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "support/manual_clock.hpp"
#include "support/odd_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

TEST(IntervalBucket, GetsAPortionAtTheEndOfEachPeriod) {
  IntervalBucket bucket(5, 1s, 8, kTestStart);
  EXPECT_TRUE(bucket.allow(8, kTestStart));
  EXPECT_EQ(bucket.tokens(kTestStart + 999'999'999ns), 0u);
  EXPECT_EQ(bucket.tokens(kTestStart + 1s), 5u);
  EXPECT_EQ(bucket.tokens(kTestStart + 2s), 8u);
  EXPECT_EQ(bucket.allow(9, kTestStart + 2s), Refusal::too_many);
  EXPECT_EQ(bucket.as_new_at(), kTestStart + 2s);
}

TEST(IntervalBucket, StandsStillWhileTheClockIsBack) {
  IntervalBucket bucket(5, 1s, 5, kTestStart);
  bucket.allow(5, kTestStart + 1s);
  EXPECT_EQ(bucket.tokens(kTestStart), 0u);
  EXPECT_EQ(bucket.tokens(kTestStart + 1999ms), 0u);
  EXPECT_EQ(bucket.tokens(kTestStart + 2s), 5u);
}

TEST(IntervalBucket, TakesAnyInstantAndAnyNumber) {
  IntervalBucket bucket(UINT64_MAX, 1ns, 1'000'000'000'000'000'000, kTestStart);
  EXPECT_TRUE(bucket.allow(1'000'000'000'000'000'000, Instant::min()));
  EXPECT_EQ(bucket.tokens(Instant::max()), 1'000'000'000'000'000'000u);
  IntervalBucket slow(1, Duration::max(), 1'000'000'000'000'000'000, kTestStart);
  EXPECT_TRUE(slow.allow(1'000'000'000'000'000'000, kTestStart));
  EXPECT_EQ(slow.as_new_at(), Instant::max());
}

TEST(IntervalBucket, RefusesParametersThatMeanNothing) {
  EXPECT_THROW(IntervalBucket(0, 1s, 1), std::invalid_argument);
  EXPECT_THROW(IntervalBucket(1, 0s, 1), std::invalid_argument);
  EXPECT_THROW(IntervalBucket(1, 1s, UINT64_MAX), std::invalid_argument);
}

TEST(IntervalBucket, AgreesWithOneThatGoesPeriodByPeriod) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t portion = 1 + random() % 6;
    const std::uint64_t capacity = 1 + random() % 20;
    const Duration period(1 + random() % 1'000'000);
    IntervalBucket bucket(portion, period, capacity, kTestStart);
    std::uint64_t tokens = capacity;
    Instant next = kTestStart + period;
    Instant now = kTestStart;
    Instant latest = now;
    bucket.tokens(now);
    for (int i = 0; i < 500; ++i) {
      now += Duration(random() % (2 * period.count() + 1)) - (random() % 8 == 0 ? period * 2 : 0ns);
      latest = std::max(latest, now);
      for (; next <= latest; next += period) tokens = std::min(capacity, tokens + portion);
      const std::uint64_t n = 1 + random() % capacity;
      const auto wait = bucket.wait(n, now);
      const bool passes = static_cast<bool>(bucket.allow(n, now));
      ASSERT_EQ(passes, n <= tokens) << "seed " << seed << ", step " << i;
      ASSERT_EQ(passes, wait == 0ns);
      if (passes) tokens -= n;
    }
  }
}

}  // namespace
}  // namespace headgate
