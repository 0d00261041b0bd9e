// What the tests of public limiters expect, their numbers derived anew from the laws; each suite is named after its source.
// Where a source expects what no law allows, the test says so and shows what is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "headgate/fixed_window.hpp"
#include "headgate/gcra.hpp"
#include "headgate/interval_bucket.hpp"
#include "headgate/leaky_bucket.hpp"
#include "headgate/sliding_window.hpp"
#include "headgate/token_bucket.hpp"
#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

// golang.org/x/time/rate: tenths of a second.
Instant t(int tenths) {
  return kTestStart + tenths * 100ms;
}

class GolangTimeRate : public testing::Test {
 protected:
  static TokenBucket limiter(std::uint64_t per_second, std::uint64_t burst) {
    return TokenBucket(UnitRate(per_second, 1s), burst);
  }
};

TEST_F(GolangTimeRate, BurstOfOne) {
  TokenBucket bucket = limiter(10, 1);
  EXPECT_TRUE(bucket.allow(1, t(0)));
  EXPECT_FALSE(bucket.allow(1, t(0)));
  EXPECT_TRUE(bucket.allow(1, t(1)));
  EXPECT_FALSE(bucket.allow(1, t(1)));
  EXPECT_EQ(bucket.allow(2, t(2)), Refusal::too_many);
  EXPECT_TRUE(bucket.allow(1, t(2)));
  EXPECT_FALSE(bucket.allow(1, t(2)));
}

TEST_F(GolangTimeRate, BurstOfThree) {
  TokenBucket bucket = limiter(10, 3);
  EXPECT_TRUE(bucket.allow(2, t(0)));
  EXPECT_FALSE(bucket.allow(2, t(0)));
  EXPECT_TRUE(bucket.allow(1, t(0)));
  EXPECT_FALSE(bucket.allow(1, t(0)));
  EXPECT_FALSE(bucket.allow(4, t(1)));
  EXPECT_TRUE(bucket.allow(1, t(2)));
  EXPECT_TRUE(bucket.allow(1, t(3)));
  EXPECT_TRUE(bucket.allow(1, t(4)));
  EXPECT_TRUE(bucket.allow(1, t(4)));
  EXPECT_FALSE(bucket.allow(1, t(4)));
  EXPECT_TRUE(bucket.allow(3, t(9)));
  EXPECT_TRUE(bucket.allow(0, t(9)));
}

// There a clock that goes back and comes again brings a token once more; here it stands still meanwhile.
TEST_F(GolangTimeRate, JumpBackwards) {
  TokenBucket bucket = limiter(10, 3);
  EXPECT_TRUE(bucket.allow(1, t(1)));
  EXPECT_TRUE(bucket.allow(1, t(0)));
  EXPECT_TRUE(bucket.allow(1, t(0)));
  EXPECT_FALSE(bucket.allow(1, t(0)));
  EXPECT_FALSE(bucket.allow(1, t(1))) << "no time has passed since";
  EXPECT_TRUE(bucket.allow(1, t(2)));
  EXPECT_FALSE(bucket.allow(1, t(2)));
}

TEST_F(GolangTimeRate, NoTruncationErrors) {
  TokenBucket bucket(UnitRate(10, 13s), 1);
  EXPECT_TRUE(bucket.allow(1, t(0)));
}

TEST_F(GolangTimeRate, SimpleReserve) {
  TokenBucket bucket = limiter(10, 2);
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(0));
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(2));
  EXPECT_EQ(bucket.reserve(2, t(3)).at, t(4));
}

TEST_F(GolangTimeRate, Mix) {
  TokenBucket bucket = limiter(10, 2);
  EXPECT_EQ(bucket.reserve(3, t(0)).refusal, Refusal::too_many);
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(0));
  EXPECT_FALSE(bucket.allow(2, t(1)));
  EXPECT_EQ(bucket.reserve(2, t(1)).at, t(2));
  EXPECT_FALSE(bucket.allow(1, t(1)));
  EXPECT_TRUE(bucket.allow(1, t(3)));
}

TEST_F(GolangTimeRate, CancelInvalid) {
  TokenBucket bucket = limiter(10, 2);
  bucket.reserve(2, t(0));
  Reservation refused = bucket.reserve(3, t(0));
  bucket.cancel(refused, t(0));
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(2));
}

TEST_F(GolangTimeRate, CancelLast) {
  TokenBucket bucket = limiter(10, 2);
  bucket.reserve(2, t(0));
  Reservation last = bucket.reserve(2, t(0));
  bucket.cancel(last, t(1));
  EXPECT_EQ(bucket.reserve(2, t(1)).at, t(2));
}

TEST_F(GolangTimeRate, CancelTooLate) {
  TokenBucket bucket = limiter(10, 2);
  bucket.reserve(2, t(0));
  Reservation past = bucket.reserve(2, t(0));
  bucket.cancel(past, t(3));
  EXPECT_TRUE(past) << "it was used";
  EXPECT_EQ(bucket.reserve(2, t(3)).at, t(4));
}

TEST_F(GolangTimeRate, CancelGivesNothingBack) {
  TokenBucket bucket = limiter(10, 2);
  bucket.reserve(2, t(0));
  Reservation first = bucket.reserve(1, t(0));
  EXPECT_EQ(bucket.reserve(1, t(0)).at, t(2));
  bucket.cancel(first, t(0));
  EXPECT_EQ(bucket.reserve(1, t(0)).at, t(3));
}

TEST_F(GolangTimeRate, CancelGivesOneTokenBack) {
  TokenBucket bucket = limiter(10, 2);
  bucket.reserve(2, t(0));
  Reservation first = bucket.reserve(2, t(0));
  EXPECT_EQ(bucket.reserve(1, t(0)).at, t(3));
  bucket.cancel(first, t(2));
  EXPECT_EQ(bucket.reserve(2, t(2)).at, t(4));
}

TEST_F(GolangTimeRate, CancelMulti) {
  TokenBucket bucket = limiter(10, 4);
  bucket.reserve(4, t(0));
  Reservation a = bucket.reserve(3, t(0));
  EXPECT_EQ(a.at, t(3));
  EXPECT_EQ(bucket.reserve(1, t(0)).at, t(4));
  Reservation c = bucket.reserve(1, t(0));
  EXPECT_EQ(c.at, t(5));
  bucket.cancel(c, t(1));
  bucket.cancel(a, t(1));
  EXPECT_EQ(bucket.reserve(3, t(1)).at, t(5));
}

// There the reservation is for t1, at which with it 3 units have passed of a burst of 2.
TEST_F(GolangTimeRate, ReserveJumpBack) {
  TokenBucket bucket = limiter(10, 2);
  EXPECT_EQ(bucket.reserve(2, t(1)).at, t(1));
  EXPECT_EQ(bucket.reserve(1, t(0)).at, t(2));
  EXPECT_EQ(bucket.reserve(2, t(2)).at, t(4));
}

// There the last one is for t4, at which two others are.
TEST_F(GolangTimeRate, ReserveJumpBackCancel) {
  TokenBucket bucket = limiter(10, 2);
  EXPECT_EQ(bucket.reserve(2, t(1)).at, t(1));
  Reservation first = bucket.reserve(2, t(1));
  EXPECT_EQ(first.at, t(3));
  EXPECT_EQ(bucket.reserve(1, t(1)).at, t(4));
  bucket.cancel(first, t(0));
  EXPECT_EQ(bucket.reserve(2, t(1)).at, t(5));
}

// There the last one is for t4, at which with it 3 units pass of a burst of 2.
TEST_F(GolangTimeRate, ReserveSetLimit) {
  TokenBucket bucket = limiter(5, 2);
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(0));
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(4));
  bucket.set_rate(UnitRate(10, 1s), t(2));
  EXPECT_EQ(bucket.reserve(1, t(2)).at, t(5));
}

// There the clock that is back brings the last one to t9.
TEST_F(GolangTimeRate, ReserveSetBurst) {
  TokenBucket bucket = limiter(5, 2);
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(0));
  EXPECT_EQ(bucket.reserve(2, t(0)).at, t(4));
  bucket.set_burst(4, t(3));
  EXPECT_EQ(bucket.reserve(4, t(0)).at, t(12));
}

TEST_F(GolangTimeRate, ReserveSetLimitCancel) {
  TokenBucket bucket = limiter(5, 2);
  bucket.reserve(2, t(0));
  Reservation last = bucket.reserve(2, t(0));
  EXPECT_EQ(last.at, t(4));
  bucket.set_rate(UnitRate(10, 1s), t(2));
  bucket.cancel(last, t(2));
  EXPECT_EQ(bucket.reserve(2, t(2)).at, t(3));
}

TEST_F(GolangTimeRate, ReserveMax) {
  TokenBucket bucket = limiter(10, 2);
  EXPECT_EQ(bucket.reserve(2, t(0), 100ms).at, t(0));
  EXPECT_EQ(bucket.reserve(1, t(0), 100ms).at, t(1));
  EXPECT_FALSE(bucket.reserve(1, t(0), 100ms));
}

// limit 5, one a second; milliseconds, volume, limited, remaining, reset after and retry after in milliseconds
TEST(RedisCell, Table) {
  struct Case {
    int at;
    std::uint64_t volume;
    bool limited;
    std::int64_t remaining;
    int reset_after;
    std::optional<int> retry_after;  // nothing: never
  };
  constexpr Case kCases[] = {
      {0, 6, true, 5, 0, std::nullopt},  // more than there can be
      {0, 1, false, 4, 1'000, 0},       {0, 1, false, 3, 2'000, 0},        {0, 1, false, 2, 3'000, 0},
      {0, 1, false, 1, 4'000, 0},       {0, 1, false, 0, 5'000, 0},        {0, 1, true, 0, 5'000, 1'000},
      {3'000, 1, false, 2, 3'000, 0},   {3'100, 1, false, 1, 3'900, 0},    {4'000, 1, false, 1, 4'000, 0},
      {8'000, 1, false, 4, 1'000, 0},   {9'500, 1, false, 4, 1'000, 0},    {9'500, 0, false, 4, 1'000, 0},
      {9'500, 2, false, 2, 3'000, 0},   {9'500, 5, true, 2, 3'000, 3'000},
  };
  TokenBucket bucket(UnitRate(1, 1s), 5);
  for (const Case& each : kCases) {
    const Instant now = kTestStart + std::chrono::milliseconds(each.at);
    const std::optional<Duration> retry = bucket.wait(each.volume, now);
    EXPECT_EQ(!bucket.allow(each.volume, now), each.limited) << "at " << each.at;
    EXPECT_EQ(bucket.tokens(now), each.remaining) << "at " << each.at;
    EXPECT_EQ(bucket.wait(5, now), std::chrono::milliseconds(each.reset_after)) << "at " << each.at;
    EXPECT_EQ(retry.has_value(), each.retry_after.has_value());
    if (retry) {
      EXPECT_EQ(*retry, std::chrono::milliseconds(*each.retry_after)) << "at " << each.at;
    }
  }
}

TEST(Governor, RefusesMoreThanTheBurstForEver) {
  TokenBucket bucket(UnitRate(5, 1s), 5);
  for (const std::uint64_t n : {15u, 7u, 6u}) EXPECT_EQ(bucket.allow(n, kTestStart), Refusal::too_many);
  EXPECT_EQ(bucket.allow(15, kTestStart + 3s), Refusal::too_many);
  EXPECT_TRUE(bucket.allow(5, kTestStart + 3s));
}

TEST(Governor, RejectsTooMany) {
  TokenBucket bucket(UnitRate(2, 1s), 2);
  EXPECT_TRUE(bucket.allow(1, kTestStart));
  EXPECT_TRUE(bucket.allow(1, kTestStart + 1ms));
  EXPECT_FALSE(bucket.allow(1, kTestStart + 2ms));
  EXPECT_TRUE(bucket.allow(1, kTestStart + 1002ms));
  EXPECT_TRUE(bucket.allow(1, kTestStart + 1003ms));
  EXPECT_FALSE(bucket.allow(1, kTestStart + 1004ms));
}

TEST(Governor, AllowsNoExtraCellAfterALongInterval) {
  TokenBucket bucket(UnitRate(5, 1s), 5);
  Gcra gcra(UnitRate(5, 1s), 5);
  for (const Instant now : {kTestStart, kTestStart + 2s, kTestStart + 24h}) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(bucket.allow(1, now));
      EXPECT_EQ(gcra.earliest(1, now), now);
      gcra.commit(1, now);
    }
    EXPECT_FALSE(bucket.allow(1, now));
    EXPECT_EQ(gcra.earliest(1, now), now + 200ms);
  }
}

// The extra cell of the other semantics: a part of a unit has leaked, which is room enough for one that looks at the level.
TEST(Governor, LeavesTheExtraCellToTheMeterThatLooksAtItsLevel) {
  TokenBucket bucket(UnitRate(5, 1s), 5);
  LeakyMeter meter(UnitRate(5, 1s), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(bucket.allow(1, kTestStart));
    EXPECT_TRUE(meter.allow(1, kTestStart));
  }
  EXPECT_FALSE(bucket.allow(1, kTestStart + 1ms));
  EXPECT_TRUE(meter.allow(1, kTestStart + 1ms));
  EXPECT_FALSE(meter.allow(1, kTestStart + 1ms));
}

TEST(Governor, WaitsTheRightTime) {
  TokenBucket bucket(UnitRate(5, 1s), 5);
  Instant now = kTestStart;
  for (int i = 0; i < 20; ++i) {
    now += 1ms;
    now += *bucket.wait(1, now);
    EXPECT_TRUE(bucket.allow(1, now));
  }
  // After 5 at once 15 more, the last of them 15 units' time after the first.
  EXPECT_EQ(now, kTestStart + 1ms + 15 * 200ms);
}

TEST(Bucket4j, RefillsByTheInterval) {
  IntervalBucket bucket(9, 10ns, 9, kTestStart);
  EXPECT_TRUE(bucket.allow(9, kTestStart));
  EXPECT_EQ(bucket.tokens(kTestStart + 4ns), 0u);
  EXPECT_EQ(bucket.tokens(kTestStart + 10ns), 9u);
  EXPECT_EQ(bucket.tokens(kTestStart + 11ns), 9u);
}

TEST(Bucket4j, RefillsTwoLimitsByTheInterval) {
  IntervalBucket one(5, 6ns, 9, kTestStart);
  IntervalBucket other(4, 5ns, 12, kTestStart);
  one.allow(9, kTestStart);
  other.allow(12, kTestStart);
  const auto both = [&](int at) {
    return std::min(one.tokens(kTestStart + Duration(at)), other.tokens(kTestStart + Duration(at)));
  };
  EXPECT_EQ(both(4), 0u);
  EXPECT_EQ(both(5), 0u);
  EXPECT_EQ(both(6), 4u);
  EXPECT_EQ(both(10), 5u);
  EXPECT_EQ(both(12), 8u);
  EXPECT_EQ(both(15), 9u);
}

// There 15 of a capacity of 10 are told to come back after 105 s, and again then.
TEST(Bucket4j, EstimatesTheWaitForARefill) {
  IntervalBucket bucket(10, 1min, 10, kTestStart);
  bucket.allow(10, kTestStart);
  EXPECT_EQ(bucket.wait(1, kTestStart), 60s);
  EXPECT_EQ(bucket.wait(10, kTestStart), 60s);
  EXPECT_EQ(bucket.wait(1, kTestStart + 15s), 45s);
  EXPECT_EQ(bucket.wait(15, kTestStart + 15s), std::nullopt) << "never";
  IntervalBucket larger(10, 1min, 30, kTestStart);
  larger.allow(30, kTestStart);
  EXPECT_EQ(larger.wait(15, kTestStart + 15s), 45s + 60s);
  EXPECT_EQ(larger.wait(21, kTestStart + 15s), 45s + 60s + 60s);
}

TEST(Bucket4j, RefillsGreedily) {
  TokenBucket bucket(UnitRate(10, 1s), 10);
  bucket.allow(10, kTestStart);
  EXPECT_EQ(bucket.tokens(kTestStart + 99ms), 0);
  for (int tenth = 1; tenth <= 10; ++tenth)
    EXPECT_EQ(bucket.tokens(t(tenth)), tenth) << "not ten after a second";
  EXPECT_EQ(bucket.tokens(t(11)), 10);
}

TEST(Bucket4j, LosesNoPartOfATokenHoweverOftenItIsAsked) {
  TokenBucket bucket(UnitRate(3, 10ns), 100);
  bucket.allow(100, kTestStart);
  for (int ns = 1; ns <= 100; ++ns) EXPECT_EQ(bucket.tokens(kTestStart + Duration(ns)), ns * 3 / 10);
}

TEST(TenOfTwenty, PassAtOnce) {
  TokenBucket bucket(UnitRate(1, 100ms), 10);
  LeakyBucket queue(UnitRate(1, 100ms), 10);
  LeakyMeter meter(UnitRate(1, 100ms), 10);
  int passed = 0, queued = 0, metered = 0;
  for (int i = 0; i < 20; ++i) {
    passed += bucket.allow(1, kTestStart) ? 1 : 0;
    metered += meter.allow(1, kTestStart) ? 1 : 0;
    const Reservation made = queue.reserve(1, kTestStart);
    if (made) {
      EXPECT_EQ(made.at, kTestStart + queued++ * 100ms);
    }
  }
  EXPECT_EQ(passed, 10);
  EXPECT_EQ(queued, 10);
  EXPECT_EQ(metered, 10);
}

// Half a token comes each time; whole numbers of tokens would lose all of it.
TEST(HundredAtTenASecond, KeepsHalvesOfTokens) {
  TokenBucket bucket(UnitRate(10, 1s), 100);
  EXPECT_TRUE(bucket.allow(50, kTestStart));
  for (int i = 1; i <= 15; ++i) EXPECT_EQ(bucket.tokens(kTestStart + i * 50ms), 50 + i / 2);
  EXPECT_TRUE(bucket.allow(57, kTestStart + 750ms));
  EXPECT_FALSE(bucket.allow(1, kTestStart + 799ms));
  EXPECT_TRUE(bucket.allow(1, kTestStart + 800ms));
}

// 5.025 a second are asked for, 5 may pass: one that rounds each step lets all pass, 0.5 % too many.
TEST(PolledEach199Milliseconds, DoesNotDrift) {
  TokenBucket bucket(UnitRate(5, 1s), 10);
  Gcra gcra(UnitRate(5, 1s), 10);
  std::uint64_t passed = 0, conforming = 0;
  constexpr int kPolls = 24 * 3'600 * 5;
  for (int i = 0; i <= kPolls; ++i) {
    const Instant now = kTestStart + i * 199ms;
    passed += bucket.allow(1, now) ? 1 : 0;
    if (gcra.earliest(1, now) > now) continue;
    gcra.commit(1, now);
    ++conforming;
  }
  EXPECT_EQ(passed, 10 + kPolls * 199ull / 200);
  EXPECT_EQ(conforming, passed);
}

// A window from the first event lets 2 × MAX - 1 pass at once at its edge, as it must; where that is too much, a log does not.
TEST(TwiceTheLimitLessOne, PassesAWindowsEdgeButNotALog) {
  FixedWindow window(10, 1s, FixedWindow::Begin::first_event);
  SlidingLog log(10, 1s);
  EXPECT_TRUE(window.allow(1, kTestStart));
  EXPECT_TRUE(log.allow(1, kTestStart));
  int of_window = 0, of_log = 0;
  for (const Instant now : {kTestStart + 999'999'999ns, kTestStart + 1s}) {
    for (int i = 0; i < 10; ++i) {
      of_window += window.allow(1, now) ? 1 : 0;
      of_log += log.allow(1, now) ? 1 : 0;
    }
  }
  EXPECT_EQ(of_window, 19);
  EXPECT_EQ(of_log, 10);
}

// Elsewhere a caller that wants more than the capacity waits for ever.
TEST(MoreThanTheCapacity, IsAnErrorAtOnce) {
  EXPECT_EQ(TokenBucket(UnitRate(1, 1s), 5).reserve(6, kTestStart).refusal, Refusal::too_many);
  EXPECT_EQ(LeakyBucket(UnitRate(1, 1s), 5).reserve(6, kTestStart).refusal, Refusal::too_many);
  EXPECT_EQ(IntervalBucket(1, 1s, 5).allow(6, kTestStart), Refusal::too_many);
  EXPECT_EQ(FixedWindow(5, 1s).allow(6, kTestStart), Refusal::too_many);
  EXPECT_EQ(SlidingLog(5, 1s).allow(6, kTestStart), Refusal::too_many);
  EXPECT_EQ(SlidingCounters(5, 1s).allow(6, kTestStart), Refusal::too_many);
}

}  // namespace
}  // namespace headgate
