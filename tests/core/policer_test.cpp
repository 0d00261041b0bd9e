// What a policer decides, beside naive references and the limiters of the library.
#include "core/policer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "headgate/fixed_window.hpp"
#include "headgate/sliding_window.hpp"
#include "support/policed_classes.hpp"

namespace headgate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at(Duration since_zero) {
  return Instant{since_zero};
}

// A policer with the state of one flow.
struct OneFlow {
  explicit OneFlow(const ClassConfig& config) : policer(config) {}

  bool passes(Instant now, Cost cost = {1, 100}) {
    if (!policer.conforms(state, cost, now)) return false;
    policer.charge(state, cost, now);
    return true;
  }
  int passing(int packets, Instant now) {
    int passed = 0;
    for (int i = 0; i < packets; ++i) passed += passes(now) ? 1 : 0;
    return passed;
  }
  void change_to(const ClassConfig& config, Instant now) {
    Policer next(config);
    next.go_on_from(policer, now);
    next.change(state, policer);
    policer = next;
  }

  Policer policer;
  FlowBucket state;
};

TEST(Policer, ABucketLetsItsBurstPassAtOnceAndThenItsRate) {
  OneFlow flow(policed_class("a", packets_per_second(10), {.packets = 5}));
  EXPECT_EQ(flow.passing(9, at(seconds(1))), 5);
  EXPECT_FALSE(flow.passes(at(seconds(1) + milliseconds(99))));
  EXPECT_TRUE(flow.passes(at(seconds(1) + milliseconds(100))));
  EXPECT_FALSE(flow.passes(at(seconds(1) + milliseconds(199))));
  EXPECT_EQ(flow.passing(9, at(hours(1))), 5);
}

TEST(Policer, AFixedWindowIsAligned) {
  OneFlow flow(policed_class("a", fixed_window(3, seconds(10))));
  EXPECT_EQ(flow.passing(9, at(seconds(19))), 3);
  EXPECT_FALSE(flow.passes(at(seconds(20) - Duration(1))));
  EXPECT_EQ(flow.passing(9, at(seconds(20))), 3);
  EXPECT_EQ(flow.passing(9, at(seconds(29))), 0);
  EXPECT_EQ(flow.passing(9, at(seconds(300))), 3);
}

TEST(Policer, ASlidingWindowForgetsLittleByLittle) {
  OneFlow flow(policed_class("a", sliding_window(10, seconds(10))));
  EXPECT_EQ(flow.passing(99, at(seconds(19))), 10);
  EXPECT_EQ(flow.passing(99, at(seconds(20))), 0);
  EXPECT_EQ(flow.passing(99, at(seconds(25))), 5);
  EXPECT_EQ(flow.passing(99, at(seconds(30))), 5);
  EXPECT_EQ(flow.passing(99, at(seconds(60))), 10);
}

TEST(Policer, AWindowInBytesCountsThemAsTheLinkDoes) {
  ClassConfig config = policed_class("a", fixed_window(DataSize{1000}, seconds(10)));
  config.link_layer = {.overhead = 24, .mpu = 0};
  OneFlow flow(config);
  EXPECT_TRUE(flow.passes(at(seconds(10)), {1, 476}));
  EXPECT_FALSE(flow.passes(at(seconds(10)), {1, 477}));
  EXPECT_TRUE(flow.passes(at(seconds(10)), {1, 476}));
  EXPECT_FALSE(flow.passes(at(seconds(11)), {1, 1}));
}

TEST(Policer, AFlowIsAsNewWhenForgettingItGainsItNothing) {
  OneFlow fixed(policed_class("a", fixed_window(3, seconds(10))));
  EXPECT_TRUE(fixed.policer.as_new(fixed.state, at(seconds(0))));
  fixed.passes(at(seconds(12)));
  EXPECT_FALSE(fixed.policer.as_new(fixed.state, at(seconds(20) - Duration(1))));
  EXPECT_TRUE(fixed.policer.as_new(fixed.state, at(seconds(20))));
  OneFlow sliding(policed_class("a", sliding_window(3, seconds(10))));
  sliding.passes(at(seconds(12)));
  EXPECT_FALSE(sliding.policer.as_new(sliding.state, at(seconds(30) - Duration(1))));
  EXPECT_TRUE(sliding.policer.as_new(sliding.state, at(seconds(30))));
  EXPECT_FALSE(sliding.passing(4, at(seconds(29))) == 3) << "the last window counts a little";
}

TEST(Policer, WhatCountedCountsOnUnderAnotherLimit) {
  OneFlow flow(policed_class("a", fixed_window(10, seconds(10))));
  EXPECT_EQ(flow.passing(6, at(seconds(12))), 6);
  flow.change_to(policed_class("a", fixed_window(8, seconds(10))), at(seconds(13)));
  EXPECT_EQ(flow.passing(9, at(seconds(13))), 2);
  flow.change_to(policed_class("a", fixed_window(12, seconds(60))), at(seconds(14)));
  EXPECT_EQ(flow.passing(9, at(seconds(59))), 4);
  flow.change_to(policed_class("a", fixed_window(12, seconds(1))), at(seconds(59)));
  EXPECT_EQ(flow.passing(99, at(seconds(59))), 0);
  EXPECT_EQ(flow.passing(99, at(seconds(60))), 12);
  OneFlow sliding(policed_class("a", sliding_window(10, seconds(10))));
  EXPECT_EQ(sliding.passing(10, at(seconds(12))), 10);
  sliding.change_to(policed_class("a", sliding_window(10, seconds(20))),
                    at(seconds(25)));  // a half still counts
  EXPECT_EQ(sliding.passing(99, at(seconds(25))), 5);
}

TEST(Policer, AClockThatGoesBackStandsStill) {
  Policer policer(policed_class("a", fixed_window(3, seconds(10))));
  EXPECT_EQ(policer.judged_at(at(seconds(20))), at(seconds(20)));
  EXPECT_EQ(policer.judged_at(at(seconds(15))), at(seconds(20)));
}

// A million events, also with jumps of the clock: windows decide as the library's do.
template <typename Limiter>
void expect_decisions_of(Limiter limiter, const ClassConfig& config) {
  std::mt19937_64 random(7);
  OneFlow flow(config);
  Instant now{};
  int passed = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    now += Duration(random() % 4'000'000);
    if (random() % 1'000 == 0) now += Duration(random() % 40'000'000'000);
    if (random() % 200'000 == 0) now += hours(24 * 365 * 5);
    const Cost cost{1 + random() % 3, 100};
    const bool expected{limiter.allow(cost.packets, now)};
    ASSERT_EQ(flow.passes(now, cost), expected) << i;
    passed += expected ? 1 : 0;
  }
  EXPECT_GT(passed, 10'000);
  EXPECT_LT(passed, 990'000);
}

TEST(Policer, DecidesAsTheLimitersOfTheLibrary) {
  expect_decisions_of(FixedWindow(700, seconds(1)), policed_class("a", fixed_window(700, seconds(1))));
  expect_decisions_of(SlidingCounters(700, seconds(1)), policed_class("a", sliding_window(700, seconds(1))));
}

}  // namespace
}  // namespace headgate
