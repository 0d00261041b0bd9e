#include "headgate/leaky_bucket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/manual_clock.hpp"
#include "support/odd_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

TEST(LeakyBucket, LetsLeaveEvenlySpacedAndNeverABurst) {
  LeakyBucket bucket(UnitRate(3, 1s), 10);
  EXPECT_EQ(bucket.reserve(1, kTestStart).at, kTestStart);
  EXPECT_EQ(bucket.reserve(2, kTestStart).at, kTestStart + 333'333'334ns);
  EXPECT_EQ(bucket.reserve(1, kTestStart).at, kTestStart + 1s);
  const Instant later = kTestStart + 100s;
  EXPECT_EQ(bucket.reserve(1, later).at, later);
  EXPECT_EQ(bucket.reserve(1, later).at, later + 333'333'334ns);
}

TEST(LeakyBucket, RefusesWhatWouldRunOver) {
  LeakyBucket bucket(UnitRate(10, 1s), 3);
  EXPECT_EQ(bucket.reserve(4, kTestStart).refusal, Refusal::too_many);
  EXPECT_TRUE(bucket.reserve(3, kTestStart));
  EXPECT_EQ(bucket.reserve(1, kTestStart + 99'999'999ns).refusal, Refusal::not_now);
  EXPECT_EQ(bucket.level(kTestStart + 99'999'999ns), 3);
  EXPECT_EQ(bucket.reserve(1, kTestStart + 100ms).at, kTestStart + 300ms);
}

TEST(LeakyBucket, RefusesWhatWouldWaitTooLong) {
  LeakyBucket bucket(UnitRate(10, 1s), 100);
  EXPECT_TRUE(bucket.allow(1, kTestStart));
  EXPECT_EQ(bucket.allow(1, kTestStart), Refusal::not_now) << "it would not leave at once";
  EXPECT_EQ(bucket.reserve(1, kTestStart, 99'999'999ns).refusal, Refusal::not_now);
  EXPECT_EQ(bucket.reserve(1, kTestStart, 100ms).at, kTestStart + 100ms);
}

TEST(LeakyBucket, DoesNotDriftInAYear) {
  LeakyBucket bucket(UnitRate(3, 1h), 1'000'000);
  Instant at = kTestStart;
  for (int i = 0; i <= 3 * 24 * 365; ++i) at = bucket.reserve(1, kTestStart).at;
  EXPECT_EQ(at, kTestStart + std::chrono::days(365));
}

TEST(LeakyBucket, StandsStillWhileTheClockIsBack) {
  LeakyBucket bucket(UnitRate(10, 1s), 10);
  bucket.reserve(5, kTestStart + 1s);
  EXPECT_EQ(bucket.level(kTestStart), 5);
  EXPECT_EQ(bucket.reserve(1, kTestStart).at, kTestStart + 1500ms);
}

TEST(LeakyBucket, TakesAnyInstantAndAnyNumber) {
  LeakyBucket bucket(UnitRate(1, std::chrono::days(731)), UINT64_MAX);
  EXPECT_EQ(bucket.reserve(UINT64_MAX, kTestStart).refusal, Refusal::not_now)
      << "36 years are the longest queue";
  EXPECT_TRUE(bucket.reserve(18, kTestStart));
  EXPECT_EQ(bucket.level(Instant::max()), 0);
  EXPECT_EQ(bucket.reserve(1, Instant::max()).at, Instant::max());
}

TEST(LeakyBucket, TakesOutWhatWasPouredLast) {
  LeakyBucket bucket(UnitRate(10, 1s), 10);
  bucket.reserve(1, kTestStart);
  Reservation before = bucket.reserve(1, kTestStart);
  Reservation last = bucket.reserve(3, kTestStart);
  bucket.cancel(last, kTestStart);
  EXPECT_EQ(last.refusal, Refusal::cancelled);
  EXPECT_EQ(bucket.level(kTestStart), 2);
  Reservation again = bucket.reserve(1, kTestStart);
  bucket.cancel(before, kTestStart);
  EXPECT_EQ(bucket.level(kTestStart), 3) << "what comes after it leaves as promised";
  bucket.cancel(again, kTestStart + 201ms);
  EXPECT_TRUE(again) << "it has left";
  EXPECT_EQ(bucket.reserve(1, kTestStart).at, kTestStart + 300ms);
}

TEST(LeakyBucket, LetsLeaveAsPromisedWhenTheRateChanges) {
  LeakyBucket bucket(UnitRate(10, 1s), 20);
  bucket.reserve(10, kTestStart);
  bucket.set_rate(UnitRate(3, 1s), kTestStart);
  EXPECT_EQ(bucket.reserve(1, kTestStart).at, kTestStart + 1s);
  EXPECT_EQ(bucket.reserve(1, kTestStart).at, kTestStart + 1'333'333'334ns);
  EXPECT_EQ(bucket.as_new_at(), kTestStart + 1'666'666'667ns);
}

// When what is poured in leaves, from all that was: the latest, over all before, of its pouring and what came since.
TEST(LeakyBucket, AgreesWithAllThatWasPouredIn) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const UnitRate rate(1 + random() % 50, Duration(1 + random() % 1'000'000'000));
    const std::uint64_t capacity = 1 + random() % 20;
    OddClock clock(random, rate.time_for(1 + random() % 4));
    LeakyBucket bucket(rate, capacity);
    struct Poured {
      Instant at;
      std::uint64_t units;
    };
    std::vector<Poured> poured;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t n = 1 + random() % capacity;
      const Reservation made = bucket.reserve(n, clock.next());
      // Parts still in the bucket.
      Int128 level = 0;
      Int128 units = 0;
      for (auto each = poured.rbegin(); each != poured.rend(); ++each) {
        units += each->units;
        const Int128 passed = nanoseconds_of(clock.latest()) - nanoseconds_of(each->at);
        level = std::max(level, units * rate.period().count() - passed * rate.units());
      }
      const bool room = level + Int128{n} * rate.period().count() <= Int128{capacity} * rate.period().count();
      ASSERT_EQ(static_cast<bool>(made), room) << "seed " << seed << ", step " << i;
      if (!room) continue;
      ASSERT_EQ(made.at, clock.latest() + whole_duration(rounded_up_quotient(level, rate.units())))
          << "seed " << seed << ", step " << i;
      poured.push_back({clock.latest(), n});
    }
  }
}

TEST(LeakyMeter, AdmitsWhileItsLevelIsBelowTheCapacity) {
  LeakyMeter meter(UnitRate(10, 1s), 3);
  EXPECT_TRUE(meter.allow(2, kTestStart));
  EXPECT_TRUE(meter.allow(5, kTestStart)) << "the level was 2, and nobody asks how much is poured";
  EXPECT_EQ(meter.level(kTestStart), 7);
  EXPECT_EQ(meter.allow(1, kTestStart + 400ms), Refusal::not_now);
  EXPECT_TRUE(meter.allow(1, kTestStart + 400ms + 1ns));
}

TEST(LeakyMeter, WithoutACapacityRefusesAll) {
  LeakyMeter meter(UnitRate(10, 1s), 0);
  EXPECT_EQ(meter.allow(1, kTestStart), Refusal::not_now);
}

TEST(LeakyMeter, KeepsItsLevelWhenTheRateChanges) {
  LeakyMeter meter(UnitRate(10, 1s), 10);
  meter.allow(10, kTestStart);
  meter.set_rate(UnitRate(1, 1s), kTestStart + 250ms);
  EXPECT_EQ(meter.level(kTestStart + 250ms), 8);
  EXPECT_EQ(meter.as_new_at(), kTestStart + 250ms + 7500ms);
  meter.set_capacity(7);
  EXPECT_EQ(meter.allow(1, kTestStart + 750ms), Refusal::not_now);
  EXPECT_TRUE(meter.allow(1, kTestStart + 750ms + 1ns));
}

TEST(LeakyMeter, AgreesWithAllThatHasPassed) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const UnitRate rate(1 + random() % 50, Duration(1 + random() % 1'000'000'000));
    const std::uint64_t capacity = 1 + random() % 20;
    OddClock clock(random, rate.time_for(1 + random() % 4));
    LeakyMeter meter(rate, capacity);
    std::vector<std::pair<Instant, std::uint64_t>> passed;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t n = 1 + random() % 5;
      const bool passes = static_cast<bool>(meter.allow(n, clock.next()));
      Int128 level = 0;
      Int128 units = 0;
      for (auto each = passed.rbegin(); each != passed.rend(); ++each) {
        units += each->second;
        const Int128 time = nanoseconds_of(clock.latest()) - nanoseconds_of(each->first);
        level = std::max(level, units * rate.period().count() - time * rate.units());
      }
      ASSERT_EQ(passes, level < Int128{capacity} * rate.period().count())
          << "seed " << seed << ", step " << i;
      if (passes) passed.push_back({clock.latest(), n});
    }
  }
}

}  // namespace
}  // namespace headgate
