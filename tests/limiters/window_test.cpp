#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "headgate/fixed_window.hpp"
#include "headgate/sliding_window.hpp"
#include "support/manual_clock.hpp"
#include "support/odd_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr auto kAligned = FixedWindow::Begin::aligned;
constexpr auto kFirstEvent = FixedWindow::Begin::first_event;

TEST(FixedWindow, CountsInWindowsAlignedToTheOrigin) {
  FixedWindow window(3, 10s, kAligned, kTestStart + 4s);
  EXPECT_TRUE(window.allow(3, kTestStart));
  EXPECT_EQ(window.end(kTestStart), kTestStart + 4s);
  EXPECT_EQ(window.allow(1, kTestStart + 3'999'999'999ns), Refusal::not_now);
  EXPECT_TRUE(window.allow(1, kTestStart + 4s));
  EXPECT_EQ(window.left(kTestStart + 4s), 2u);
  EXPECT_EQ(window.left(kTestStart + 14s), 3u);
  EXPECT_EQ(window.allow(4, kTestStart + 14s), Refusal::too_many);
}

TEST(FixedWindow, BeginsWithTheFirstEventAfterTheLastOnesEnd) {
  FixedWindow window(2, 10s, kFirstEvent);
  EXPECT_EQ(window.end(kTestStart), kTestStart) << "none has begun";
  EXPECT_TRUE(window.allow(1, kTestStart + 3s));
  EXPECT_EQ(window.end(kTestStart + 3s), kTestStart + 13s);
  EXPECT_TRUE(window.allow(1, kTestStart + 12s));
  EXPECT_EQ(window.allow(1, kTestStart + 12'999'999'999ns), Refusal::not_now);
  EXPECT_EQ(window.as_new_at(), kTestStart + 13s);
  EXPECT_TRUE(window.allow(1, kTestStart + 20s));
  EXPECT_EQ(window.end(kTestStart + 20s), kTestStart + 30s);
}

TEST(FixedWindow, ObeysALimitThatChanges) {
  FixedWindow window(5, 10s, kFirstEvent);
  window.allow(4, kTestStart);
  window.set_limit(2);
  EXPECT_EQ(window.left(kTestStart), 0u);
  EXPECT_EQ(window.allow(1, kTestStart), Refusal::not_now);
  EXPECT_EQ(window.allow(3, kTestStart), Refusal::too_many);
  window.set_limit(6);
  EXPECT_EQ(window.left(kTestStart), 2u);
}

TEST(Windows, StandStillWhileTheClockIsBack) {
  FixedWindow fixed(1, 1s, kAligned, kTestStart);
  SlidingLog log(1, 1s);
  SlidingCounters counters(1, 1s, kTestStart);
  EXPECT_TRUE(fixed.allow(1, kTestStart + 1s));
  EXPECT_TRUE(log.allow(1, kTestStart + 1s));
  EXPECT_TRUE(counters.allow(1, kTestStart + 1s));
  for (const Instant now : {kTestStart, kTestStart + 999ms, kTestStart + 1'999'999'999ns}) {
    EXPECT_FALSE(fixed.allow(1, now));
    EXPECT_FALSE(log.allow(1, now));
    EXPECT_FALSE(counters.allow(1, now));
  }
  EXPECT_TRUE(fixed.allow(1, kTestStart + 2s));
  EXPECT_TRUE(log.allow(1, kTestStart + 2s));
  EXPECT_TRUE(counters.allow(1, kTestStart + 3s));
}

TEST(Windows, TakeAnyInstantAndAnyNumber) {
  for (const auto begin : {kAligned, kFirstEvent}) {
    FixedWindow fixed(UINT64_MAX, Duration::max(), begin, kTestStart);
    EXPECT_TRUE(fixed.allow(UINT64_MAX, Instant::min()));
    EXPECT_FALSE(fixed.allow(1, Instant::min()));
    EXPECT_TRUE(fixed.allow(UINT64_MAX, Instant::max()));
    EXPECT_EQ(fixed.end(Instant::max()), Instant::max());
  }
  SlidingLog log(UINT64_MAX, Duration::max());
  EXPECT_TRUE(log.allow(UINT64_MAX, Instant::min()));
  EXPECT_FALSE(log.allow(1, Instant::min()));
  EXPECT_TRUE(log.allow(UINT64_MAX, Instant::max()));
  SlidingCounters counters(1'000'000'000'000'000'000, Duration::max(), Instant::max());
  EXPECT_TRUE(counters.allow(1'000'000'000'000'000'000, Instant::min()));
  EXPECT_FALSE(counters.allow(1, Instant::min()));
  EXPECT_TRUE(counters.allow(1, Instant::max()));
}

TEST(Windows, RefuseParametersThatMeanNothing) {
  EXPECT_THROW(FixedWindow(1, 0s), std::invalid_argument);
  EXPECT_THROW(SlidingLog(1, -1s), std::invalid_argument);
  EXPECT_THROW(SlidingCounters(1, 0s), std::invalid_argument);
  EXPECT_THROW(SlidingCounters(UINT64_MAX, 1s), std::invalid_argument);
}

TEST(SlidingLog, ForgetsEachEventAWindowAfterIt) {
  SlidingLog log(3, 10s);
  EXPECT_TRUE(log.allow(1, kTestStart));
  EXPECT_TRUE(log.allow(2, kTestStart + 6s));
  EXPECT_EQ(log.allow(1, kTestStart + 9'999'999'999ns), Refusal::not_now);
  EXPECT_EQ(log.left(kTestStart + 10s), 1u);
  EXPECT_EQ(log.allow(2, kTestStart + 10s), Refusal::not_now) << "all or none";
  EXPECT_TRUE(log.allow(1, kTestStart + 10s));
  EXPECT_EQ(log.as_new_at(), kTestStart + 20s);
  EXPECT_EQ(log.allow(4, kTestStart + 20s), Refusal::too_many);
}

TEST(SlidingCounters, TakesTheLastWindowAsEvenlySpread) {
  SlidingCounters counters(10, 10s, kTestStart);
  EXPECT_TRUE(counters.allow(8, kTestStart + 9s));
  EXPECT_EQ(counters.left(kTestStart + 10s), 2u);
  EXPECT_TRUE(counters.allow(2, kTestStart + 10s));
  // A quarter into the window 6 of the 8 still count.
  EXPECT_EQ(counters.allow(3, kTestStart + 12'499'999'999ns), Refusal::not_now);
  EXPECT_TRUE(counters.allow(2, kTestStart + 12'500ms));
  EXPECT_EQ(counters.left(kTestStart + 12'500ms), 0u);
  EXPECT_EQ(counters.as_new_at(), kTestStart + 30s);
  EXPECT_EQ(counters.left(kTestStart + 30s), 10u);
}

TEST(SlidingCounters, ObeysALimitThatChanges) {
  SlidingCounters counters(10, 10s, kTestStart);
  counters.allow(8, kTestStart);
  counters.set_limit(5);
  EXPECT_EQ(counters.left(kTestStart), 0u);
  EXPECT_EQ(counters.allow(6, kTestStart), Refusal::too_many);
  counters.set_limit(9);
  EXPECT_TRUE(counters.allow(1, kTestStart));
  EXPECT_THROW(counters.set_limit(UINT64_MAX), std::invalid_argument);
}

using Passed = std::vector<std::pair<Instant, std::uint64_t>>;

template <typename Counts>
std::uint64_t sum_of(const Passed& passed, Counts counts) {
  std::uint64_t sum = 0;
  for (const auto& [at, units] : passed) sum += counts(at) ? units : 0;
  return sum;
}

TEST(Windows, AgreeWithAllThatHasPassed) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const Duration length(1 + random() % 1'000'000'000);
    const std::uint64_t limit = 1 + random() % 12;
    const Instant origin = kTestStart - Duration(random() % 5'000'000'000);
    OddClock clock(random, length / (1 + random() % 8) + 1ns);
    FixedWindow aligned(limit, length, kAligned, origin);
    FixedWindow from_first(limit, length, kFirstEvent);
    SlidingLog log(limit, length);
    SlidingCounters counters(limit, length, origin);
    Passed in_aligned, in_from_first, in_log, in_counters;
    Instant first = Instant::min();
    const auto index = [&](Instant at) {
      return rounded_down_quotient(nanoseconds_of(at) - nanoseconds_of(origin), length.count());
    };
    for (int i = 0; i < 300; ++i) {
      const Instant asked = clock.next();
      const Instant now = clock.latest();
      const std::uint64_t n = 1 + random() % limit;

      const auto in_window = [&](Instant at) { return index(at) == index(now); };
      const bool fits = sum_of(in_aligned, in_window) + n <= limit;
      ASSERT_EQ(static_cast<bool>(aligned.allow(n, asked)), fits)
          << "aligned, seed " << seed << ", step " << i;
      if (fits) in_aligned.emplace_back(now, n);

      if (first == Instant::min() || now - first >= length) first = now;
      const bool fits_first = sum_of(in_from_first, [&](Instant at) { return at >= first; }) + n <= limit;
      ASSERT_EQ(static_cast<bool>(from_first.allow(n, asked)), fits_first)
          << "seed " << seed << ", step " << i;
      if (fits_first) in_from_first.emplace_back(now, n);

      const bool fits_log = sum_of(in_log, [&](Instant at) { return now - at < length; }) + n <= limit;
      ASSERT_EQ(static_cast<bool>(log.allow(n, asked)), fits_log) << "log, seed " << seed << ", step " << i;
      if (fits_log) in_log.emplace_back(now, n);

      const Int128 into = nanoseconds_of(now) - nanoseconds_of(origin) - index(now) * length.count();
      const Int128 of_last = sum_of(in_counters, [&](Instant at) { return index(at) + 1 == index(now); });
      const Int128 present = sum_of(in_counters, in_window);
      const bool fits_counters =
          of_last * (length.count() - into) <= (Int128{limit} - present - n) * length.count();
      ASSERT_EQ(static_cast<bool>(counters.allow(n, asked)), fits_counters)
          << "seed " << seed << ", step " << i;
      if (fits_counters) in_counters.emplace_back(now, n);
    }
  }
}

}  // namespace
}  // namespace headgate
