#include "headgate/gcra.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headgate/token_bucket.hpp"
#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

Instant send(Gcra& gcra, std::uint64_t n, Instant arrival) {
  const Instant departure = gcra.earliest(n, arrival);
  gcra.commit(n, departure);
  return departure;
}

TEST(Gcra, SpacesEvenlyWithABurstOfOne) {
  Gcra gcra(UnitRate(3, 1s), 1);
  EXPECT_EQ(send(gcra, 1, kTestStart), kTestStart);
  EXPECT_EQ(send(gcra, 1, kTestStart), kTestStart + 333'333'334ns);
  EXPECT_EQ(send(gcra, 1, kTestStart), kTestStart + 666'666'667ns);
  EXPECT_EQ(send(gcra, 1, kTestStart), kTestStart + 1s);
}

TEST(Gcra, LetsABurstGoAtOnceAndSpacesWhatIsAboveIt) {
  Gcra gcra(UnitRate(10, 1min), 3);
  EXPECT_EQ(send(gcra, 3, kTestStart), kTestStart);
  EXPECT_EQ(send(gcra, 1, kTestStart), kTestStart + 6s);
  EXPECT_EQ(send(gcra, 4, kTestStart), kTestStart + 24s) << "more than a burst waits until all is paid for";
}

TEST(Gcra, AskingChargesNothing) {
  Gcra gcra(UnitRate(1, 1s), 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(gcra.earliest(1, kTestStart), kTestStart);
  gcra.commit(1, kTestStart);
  EXPECT_EQ(gcra.as_new_at(), kTestStart + 1s);
}

TEST(Gcra, SendsSevenInThreeDaysForEightyYearsWithoutDrift) {
  Gcra gcra(UnitRate(7, std::chrono::days(3)), 1);
  Instant departure = kTestStart;
  for (int i = 0; i <= 70'000; ++i) departure = send(gcra, 1, kTestStart);
  EXPECT_EQ(departure, kTestStart + std::chrono::days(30'000));
}

TEST(Gcra, TakesAnyInstantAndAnyNumber) {
  Gcra gcra(UnitRate(1, std::chrono::days(365)), UINT64_MAX);
  EXPECT_EQ(gcra.earliest(UINT64_MAX, Instant::max()), Gcra::kEnd);
  gcra.commit(UINT64_MAX, Instant::max());
  gcra.commit(UINT64_MAX, Instant::max());
  EXPECT_EQ(gcra.earliest(UINT64_MAX, kTestStart), Gcra::kEnd) << "never";
  EXPECT_LT(gcra.earliest(1, Instant::min()), Gcra::kEnd);
}

TEST(Gcra, SaysWhatTheTokenBucketSays) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const UnitRate rate(1 + random() % 1'000, Duration(1 + random() % 10'000'000'000));
    const std::uint64_t burst = 1 + random() % 20;
    Gcra gcra(rate, burst);
    TokenBucket bucket(rate, burst);
    Instant now = kTestStart;
    for (int i = 0; i < 500; ++i) {
      now += Duration(random() % 3 == 0 ? 0 : random() % (2 * rate.time_for(burst).count() + 1));
      const std::uint64_t n = 1 + random() % burst;
      const Instant at = gcra.earliest(n, now);
      if (random() % 2 == 0) {
        const bool passes = static_cast<bool>(bucket.allow(n, now));
        ASSERT_EQ(passes, at == now) << "seed " << seed << ", step " << i;
        if (passes) gcra.commit(n, now);
      } else {
        const Reservation made = bucket.reserve(n, now);
        ASSERT_EQ(made.at, at) << "seed " << seed << ", step " << i;
        gcra.commit(n, at);
      }
    }
  }
}

}  // namespace
}  // namespace headgate
