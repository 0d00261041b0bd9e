#include "headgate/token_bucket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/manual_clock.hpp"
#include "support/odd_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

struct Passed {
  Instant at;
  std::uint64_t units;
};

// The law itself: whether what has passed from `first` on keeps burst + rate × (time + slack).
bool keeps_law(const std::vector<Passed>& passed, std::size_t first, UnitRate rate, std::uint64_t burst,
               Duration slack) {
  Int128 units = 0;
  for (std::size_t i = first; i < passed.size(); ++i) {
    units += passed[i].units;
    const Int128 time = nanoseconds_of(passed[i].at) - nanoseconds_of(passed[first].at) + slack.count();
    if ((units - Int128{burst}) * rate.period().count() > time * rate.units()) return false;
  }
  return true;
}

TEST(TokenBucket, LetsABurstPassAndThenTheRate) {
  TokenBucket bucket(UnitRate(10, 1s), 5);
  EXPECT_TRUE(bucket.allow(5, kTestStart));
  EXPECT_EQ(bucket.allow(1, kTestStart), Refusal::not_now);
  EXPECT_EQ(bucket.allow(1, kTestStart + 99'999'999ns), Refusal::not_now);
  EXPECT_TRUE(bucket.allow(1, kTestStart + 100ms));
  EXPECT_EQ(bucket.tokens(kTestStart + 399ms), 2);
}

TEST(TokenBucket, RefusesMoreThanTheBurstAsAnError) {
  TokenBucket bucket(UnitRate(10, 1s), 5);
  EXPECT_EQ(bucket.allow(6, kTestStart), Refusal::too_many);
  EXPECT_EQ(bucket.reserve(6, kTestStart).refusal, Refusal::too_many);
  EXPECT_EQ(bucket.wait(6, kTestStart), std::nullopt);
  EXPECT_EQ(bucket.tokens(kTestStart), 5) << "a refusal takes nothing";
}

TEST(TokenBucket, WithoutABurstRefusesAll) {
  TokenBucket bucket(UnitRate(10, 1s), 0);
  EXPECT_EQ(bucket.allow(1, kTestStart), Refusal::too_many);
  EXPECT_TRUE(bucket.allow(0, kTestStart));
}

TEST(TokenBucket, SaysHowLongToWait) {
  TokenBucket bucket(UnitRate(3, 1s), 3);
  EXPECT_EQ(bucket.wait(3, kTestStart), 0ns);
  bucket.allow(3, kTestStart);
  EXPECT_EQ(bucket.wait(1, kTestStart), 333'333'334ns);
  EXPECT_EQ(bucket.wait(3, kTestStart + 1ns), 999'999'999ns);
}

TEST(TokenBucket, RefusesAReservationThatWouldWaitTooLong) {
  TokenBucket bucket(UnitRate(10, 1s), 2);
  EXPECT_EQ(bucket.reserve(2, kTestStart, 0ns).at, kTestStart);
  EXPECT_EQ(bucket.reserve(1, kTestStart, 99'999'999ns).refusal, Refusal::not_now);
  EXPECT_EQ(bucket.reserve(1, kTestStart, 100ms).at, kTestStart + 100ms);
  EXPECT_EQ(bucket.tokens(kTestStart), -1);
}

TEST(TokenBucket, ReservesAtExactSpacingWithoutDrift) {
  TokenBucket bucket(UnitRate(3, 1s), 1);
  Instant at = kTestStart;
  for (int i = 0; i <= 3 * 86'400; ++i) at = bucket.reserve(1, kTestStart).at;
  EXPECT_EQ(at, kTestStart + 24h);
}

TEST(TokenBucket, StandsStillWhileTheClockIsBack) {
  TokenBucket bucket(UnitRate(10, 1s), 10);
  bucket.allow(10, kTestStart + 1s);
  EXPECT_EQ(bucket.tokens(kTestStart), 0);
  EXPECT_EQ(bucket.tokens(kTestStart + 500ms), 0);
  EXPECT_EQ(bucket.tokens(kTestStart + 1s), 0);
  EXPECT_EQ(bucket.tokens(kTestStart + 1100ms), 1);
  EXPECT_EQ(bucket.reserve(2, kTestStart).at, kTestStart + 1200ms) << "counted from the latest instant";
}

TEST(TokenBucket, IsFullAfterYearsAndNoFuller) {
  TokenBucket bucket(UnitRate(1'000'000'000'000, 1s), 7);
  bucket.allow(7, Instant::min());
  EXPECT_EQ(bucket.tokens(Instant::max()), 7);
  EXPECT_TRUE(bucket.allow(7, Instant::max()));
  EXPECT_EQ(bucket.reserve(7, Instant::max()).at, Instant::max()) << "there is no later instant";
}

TEST(TokenBucket, TakesTheLargestBurst) {
  TokenBucket bucket(UnitRate(1, std::chrono::days(731)), UINT64_MAX);
  EXPECT_TRUE(bucket.allow(UINT64_MAX, kTestStart));
  EXPECT_EQ(bucket.allow(1, kTestStart), Refusal::not_now);
  EXPECT_EQ(bucket.reserve(UINT64_MAX, kTestStart).refusal, Refusal::not_now)
      << "36 years are the longest wait";
}

TEST(TokenBucket, KeepsItsTokensWhenTheRateChanges) {
  TokenBucket bucket(UnitRate(10, 1s), 10);
  bucket.allow(10, kTestStart);
  bucket.set_rate(UnitRate(1, 1s), kTestStart + 250ms);
  EXPECT_EQ(bucket.tokens(kTestStart + 250ms), 2);
  EXPECT_EQ(bucket.tokens(kTestStart + 749ms), 2);
  EXPECT_EQ(bucket.tokens(kTestStart + 750ms), 3) << "the half token is kept";
}

TEST(TokenBucket, KeepsItsTokensUpToASmallerBurst) {
  TokenBucket bucket(UnitRate(10, 1s), 10);
  bucket.allow(4, kTestStart);
  bucket.set_burst(20, kTestStart);
  EXPECT_EQ(bucket.tokens(kTestStart), 6) << "a larger burst fills at the rate";
  bucket.set_burst(3, kTestStart);
  EXPECT_EQ(bucket.tokens(kTestStart + 1s), 3);
  EXPECT_EQ(bucket.allow(4, kTestStart + 1s), Refusal::too_many);
}

TEST(TokenBucket, GivesBackAReservationOnce) {
  TokenBucket bucket(UnitRate(10, 1s), 2);
  bucket.allow(2, kTestStart);
  Reservation made = bucket.reserve(2, kTestStart);
  bucket.cancel(made, kTestStart);
  bucket.cancel(made, kTestStart);
  EXPECT_EQ(made.refusal, Refusal::cancelled);
  EXPECT_EQ(bucket.tokens(kTestStart), 0);
}

TEST(TokenBucket, IsAsNewWhenItIsFull) {
  TokenBucket bucket(UnitRate(3, 1s), 2);
  EXPECT_LE(bucket.as_new_at(), kTestStart);
  bucket.allow(1, kTestStart);
  EXPECT_EQ(bucket.as_new_at(), kTestStart + 333'333'334ns);
}

TEST(TokenBucket, LetsPassExactlyWhatTheLawLetsPass) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const UnitRate rate(1 + random() % 50, Duration(1 + random() % 1'000'000'000));
    const std::uint64_t burst = 1 + random() % 12;
    OddClock clock(random, rate.time_for(1 + random() % 4));
    TokenBucket bucket(rate, burst);
    std::vector<Passed> passed;
    for (int i = 0; i < 200; ++i) {
      const Instant now = clock.next();
      const std::uint64_t n = 1 + random() % burst;
      passed.push_back({clock.latest(), n});
      bool lawful = true;
      for (std::size_t first = 0; first < passed.size() && lawful; ++first) {
        lawful = keeps_law(passed, first, rate, burst, 0ns);
      }
      ASSERT_EQ(static_cast<bool>(bucket.allow(n, now)), lawful) << "seed " << seed << ", step " << i;
      if (!lawful) passed.pop_back();
    }
  }
}

// Reservations are rounded up to the nanosecond, so two of them may lie by less than one closer than the law has it.
TEST(TokenBucket, KeepsTheLawWhateverIsReservedAndCancelled) {
  for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
    std::mt19937_64 random(seed);
    const UnitRate rate(1 + random() % 50, Duration(1 + random() % 1'000'000'000));
    const std::uint64_t burst = 1 + random() % 8;
    OddClock clock(random, rate.time_for(1 + random() % 4));
    TokenBucket bucket(rate, burst);
    std::vector<Passed> passed;
    std::vector<Reservation> made;
    for (int i = 0; i < 60; ++i) {
      const Instant now = clock.next();
      bucket.tokens(now);  // it has seen what the clock has shown
      const std::uint64_t n = 1 + random() % burst;
      const auto deed = random() % 8;
      if (deed < 2) {
        if (bucket.allow(n, now)) passed.push_back({clock.latest(), n});
      } else if (deed < 5) {
        made.push_back(bucket.reserve(n, now));
        ASSERT_TRUE(made.back());
      } else if (!made.empty()) {
        const std::size_t chosen = random() % made.size();
        bucket.cancel(made[chosen], now);
        if (!made[chosen]) made.erase(made.begin() + static_cast<std::ptrdiff_t>(chosen));
      }
    }
    for (const Reservation& each : made) passed.push_back({each.at, each.units});
    std::stable_sort(passed.begin(), passed.end(),
                     [](const Passed& one, const Passed& other) { return one.at < other.at; });
    for (std::size_t first = 0; first < passed.size(); ++first) {
      ASSERT_TRUE(keeps_law(passed, first, rate, burst, 1ns)) << "seed " << seed << ", from " << first;
    }
  }
}

// With a rate that only grows, what passes keeps the law of the last rate.
TEST(TokenBucket, KeepsTheLawWhenTheRateGrowsWhileReservationsWait) {
  for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t burst = 1 + random() % 8;
    std::uint64_t units = 1 + random() % 5;
    const Duration period(1 + random() % 1'000'000'000);
    OddClock clock(random, UnitRate(units, period).time_for(2));
    TokenBucket bucket(UnitRate(units, period), burst);
    std::vector<std::pair<Instant, std::uint64_t>> rates{{Instant::min(), units}};
    std::vector<Passed> passed;
    std::vector<Reservation> made;
    for (int i = 0; i < 60; ++i) {
      const Instant now = clock.next();
      bucket.tokens(now);  // it has seen what the clock has shown
      const std::uint64_t n = 1 + random() % burst;
      const auto deed = random() % 10;
      if (deed < 3) {
        if (bucket.allow(n, now)) passed.push_back({clock.latest(), n});
      } else if (deed < 7) {
        made.push_back(bucket.reserve(n, now));
        ASSERT_TRUE(made.back());
      } else if (deed < 9) {
        if (made.empty()) continue;
        const std::size_t chosen = random() % made.size();
        bucket.cancel(made[chosen], now);
        if (!made[chosen]) made.erase(made.begin() + static_cast<std::ptrdiff_t>(chosen));
      } else if (units < 1'000) {
        units *= 2 + random() % 3;
        bucket.set_rate(UnitRate(units, period), now);
        rates.push_back({clock.latest(), units});
      }
    }
    for (const Reservation& each : made) passed.push_back({each.at, each.units});
    std::stable_sort(passed.begin(), passed.end(),
                     [](const Passed& one, const Passed& other) { return one.at < other.at; });
    // Parts of a unit that come between two instants, and within a nanosecond before.
    const auto brought = [&](Instant from, Instant to) {
      Int128 sum = 0;
      for (std::size_t i = 0; i < rates.size(); ++i) {
        const Instant begin = std::max(from - 1ns, rates[i].first);
        const Instant end = i + 1 < rates.size() ? std::min(to, rates[i + 1].first) : to;
        if (end > begin) sum += (nanoseconds_of(end) - nanoseconds_of(begin)) * rates[i].second;
      }
      return sum;
    };
    for (std::size_t first = 0; first < passed.size(); ++first) {
      Int128 sum = 0;
      for (std::size_t last = first; last < passed.size(); ++last) {
        sum += passed[last].units;
        ASSERT_TRUE((sum - Int128{burst}) * period.count() <= brought(passed[first].at, passed[last].at))
            << "seed " << seed << ", from " << first << " to " << last;
      }
    }
  }
}

}  // namespace
}  // namespace headgate
