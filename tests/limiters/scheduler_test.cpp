#include "headgate/scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_clock.hpp"
#include "support/odd_clock.hpp"

namespace {
std::uint64_t memory_taken = 0;  // how often
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++memory_taken;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace headgate {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Verdict = Scheduler::Verdict;

constexpr BitRate kByteAMicrosecond{8'000'000};

std::vector<Scheduler::Handle> all_at(Scheduler& scheduler, Instant now) {
  std::vector<Scheduler::Handle> handles;
  while (const auto item = scheduler.dequeue(now)) {
    EXPECT_EQ(item->verdict, Verdict::send);
    EXPECT_LE(item->at, now);
    handles.push_back(item->handle);
  }
  return handles;
}

// Whenever it says that something may happen, until nothing is queued or it is `end`. What leaves: send(item, now).
template <typename Send>
Instant run(Scheduler& scheduler, Instant now, Instant end, Send send) {
  while (true) {
    while (const auto item = scheduler.dequeue(now)) send(*item, now);
    const auto event = scheduler.next_event();
    if (!event || *event >= end) return now;
    EXPECT_GT(*event, now);
    now = *event;
  }
}

Scheduler::Config one_class(const Scheduler::Class& its_class) {
  return {.classes = {its_class}};
}

TEST(Scheduler, SpacesTheItemsOfAFlowAtItsRate) {
  Scheduler scheduler(one_class({.flow_rate = {.packets = PacketRate{100}}}));
  for (Scheduler::Handle handle = 0; handle < 5; ++handle)
    EXPECT_TRUE(scheduler.enqueue(handle, {0, 7}, {1, 500}, kTestStart));
  EXPECT_EQ(scheduler.queued({0, 7}), (Cost{5, 2500}));
  EXPECT_EQ(scheduler.items({0, 7}), 5U);
  Scheduler::Handle next = 0;
  run(scheduler, kTestStart, kTestStart + 1h, [&](const Scheduler::Departure& item, Instant now) {
    EXPECT_EQ(now, kTestStart + next * 10ms);
    EXPECT_EQ(item.at, now);
    EXPECT_EQ(item.handle, next++);
  });
  EXPECT_EQ(next, 5U);
  EXPECT_FALSE(scheduler.next_event());
}

TEST(Scheduler, HoldsAFlowToBothItsRatesAndLetsItsBurstGo) {
  Scheduler scheduler(one_class({.flow_rate = {.packets = PacketRate{1000},
                                               .bits = kByteAMicrosecond,
                                               .burst_packets = 3,
                                               .burst = DataSize{4000}}}));
  for (Scheduler::Handle handle = 0; handle < 6; ++handle)
    scheduler.enqueue(handle, {0, 0}, {1, handle == 4 ? 3000U : 1000U}, kTestStart);
  std::vector<Duration> left;
  run(scheduler, kTestStart, kTestStart + 1h,
      [&](const Scheduler::Departure& item, Instant) { left.push_back(item.at - kTestStart); });
  // Three packets at once; the one of 3000 bytes has to wait for its bytes.
  EXPECT_THAT(left, ElementsAre(0ms, 0ms, 0ms, 1ms, 3ms, 4ms));
}

TEST(Scheduler, SharesAClassAlikeAmongFlowsWhateverTheirItems) {
  Scheduler scheduler({.rate = kByteAMicrosecond, .classes = {{}}});
  const std::vector<std::uint64_t> sizes{1500, 700, 64};
  for (std::uint64_t flow = 0; flow < sizes.size(); ++flow)
    for (int i = 0; i < 3; ++i) scheduler.enqueue(flow, {0, flow}, {1, sizes[flow]}, kTestStart);
  std::vector<double> sent(sizes.size());
  run(scheduler, kTestStart, kTestStart + 3s, [&](const Scheduler::Departure& item, Instant now) {
    sent[item.handle] += static_cast<double>(sizes[item.handle]);
    scheduler.enqueue(item.handle, {0, item.handle}, {1, sizes[item.handle]}, now);
  });
  for (const double bytes : sent) EXPECT_NEAR(bytes, 1'000'000, 2 * 1514);
}

TEST(Scheduler, LetsWhoSendsNowAndThenGoBeforeThoseWhoFlood) {
  Scheduler scheduler({.rate = kByteAMicrosecond, .classes = {{}}});
  for (Scheduler::Handle i = 0; i < 200; ++i) scheduler.enqueue(i, {0, i % 20}, {1, 1000}, kTestStart);
  run(scheduler, kTestStart, kTestStart + 50ms, [](const Scheduler::Departure&, Instant) {});
  scheduler.enqueue(1000, {0, 99}, {1, 100}, kTestStart + 50ms);
  EXPECT_EQ(scheduler.dequeue(kTestStart + 50ms)->handle, 1000U);
}

TEST(Scheduler, HoldsNoDebtAgainstAFlowThatHadNothing) {
  Scheduler scheduler({.rate = kByteAMicrosecond, .classes = {{}}});
  scheduler.enqueue(1, {0, 1}, {1, 20'000}, kTestStart);
  EXPECT_THAT(all_at(scheduler, kTestStart), ElementsAre(1));
  scheduler.enqueue(2, {0, 1}, {1, 100}, kTestStart + 1s);
  scheduler.enqueue(3, {0, 2}, {1, 100}, kTestStart + 1s);
  EXPECT_EQ(scheduler.dequeue(kTestStart + 1s)->handle, 2U);
}

TEST(Scheduler, WakesForAFlowsRateWhileACeilingHoldsUpOthers) {
  Scheduler scheduler({.classes = {{.ceiling = BitRate{1000}}, {.flow_rate = {.packets = PacketRate{1}}}}});
  for (const Scheduler::Handle handle : {1U, 2U}) {
    scheduler.enqueue(handle, {0, 0}, {1, 1000}, kTestStart);
    scheduler.enqueue(handle, {1, 0}, {1, 1000}, kTestStart);
  }
  EXPECT_EQ(all_at(scheduler, kTestStart).size(), 2U);
  EXPECT_EQ(scheduler.next_event(), kTestStart + 1s);
  EXPECT_EQ(all_at(scheduler, kTestStart + 1s).size(), 1U);
  EXPECT_EQ(scheduler.next_event(), kTestStart + 8s);
}

TEST(Scheduler, SharesByWeightAndServesPrioritiesFirst) {
  Scheduler scheduler(
      {.rate = kByteAMicrosecond,
       .classes = {{.weight = 3}, {.weight = 1}, {.ceiling = BitRate{1'600'000}, .priority = 0}}});
  std::vector<double> sent(3);
  for (std::uint32_t number = 0; number < 3; ++number)
    for (int i = 0; i < 2; ++i) scheduler.enqueue(number, {number, 0}, {1, 1000}, kTestStart);
  run(scheduler, kTestStart, kTestStart + 10s, [&](const Scheduler::Departure& item, Instant now) {
    sent[item.handle] += 1000;
    scheduler.enqueue(item.handle, {static_cast<std::uint32_t>(item.handle), 0}, {1, 1000}, now);
  });
  EXPECT_NEAR(sent[2], 2'000'000, 20'000);
  EXPECT_NEAR(sent[0], 6'000'000, 20'000);
  EXPECT_NEAR(sent[1], 2'000'000, 20'000);
}

TEST(Scheduler, KeepsAGuaranteeInAFloodOfThoseBeforeIt) {
  Scheduler scheduler(
      {.rate = kByteAMicrosecond,
       .groups = {{.ceiling = BitRate{4'000'000}}},
       .classes = {{.priority = 0}, {.parent = 0, .guarantee = BitRate{800'000}, .priority = 7}}});
  for (int i = 0; i < 2; ++i) scheduler.enqueue(0, {0, 0}, {1, 1000}, kTestStart);
  int sent = 0;
  for (int i = 0; i < 100; ++i) {
    const Instant arrival = kTestStart + i * 10ms;
    scheduler.enqueue(1, {1, 0}, {1, 1000}, arrival);
    run(scheduler, arrival, arrival + 10ms, [&](const Scheduler::Departure& item, Instant now) {
      if (item.handle == 0) {
        scheduler.enqueue(0, {0, 0}, {1, 1000}, now);
      } else {
        EXPECT_LE(now, arrival + 2ms);  // at most two items of the link before it
        ++sent;
      }
    });
  }
  EXPECT_EQ(sent, 100);
}

TEST(Scheduler, SaysWhyItDoesNotTakeAnItem) {
  Scheduler::Config config = one_class({.queue = {.items = 3, .bytes = DataSize{2000}}});
  config.classes.push_back({});
  config.max_items = 4;
  config.max_flows = 2;
  config.rate = kByteAMicrosecond;
  Scheduler scheduler(config);
  EXPECT_EQ(scheduler.enqueue(0, {2, 0}, {1, 1}, kTestStart), Refusal::unknown);
  EXPECT_EQ(scheduler.enqueue(0, {0, 0}, {1, 2001}, kTestStart), Refusal::too_many);
  EXPECT_EQ(scheduler.enqueue(0, {1, 0}, {1, Scheduler::kMostUnits + 1}, kTestStart), Refusal::too_many);
  EXPECT_EQ(scheduler.enqueue(0, {1, 0}, {Scheduler::kMostUnits + 1, 1}, kTestStart), Refusal::too_many);
  EXPECT_EQ(scheduler.flows(), 0U) << "who is refused takes no place";
  EXPECT_TRUE(scheduler.enqueue(1, {0, 0}, {1, 1500}, kTestStart));
  EXPECT_EQ(scheduler.enqueue(2, {0, 0}, {1, 501}, kTestStart), Refusal::not_now) << "bytes";
  EXPECT_TRUE(scheduler.enqueue(3, {0, 0}, {1, 1}, kTestStart));
  EXPECT_TRUE(scheduler.enqueue(4, {0, 0}, {}, kTestStart));
  EXPECT_EQ(scheduler.queued({0, 0}), (Cost{3, 1502})) << "an item costs a packet and a byte at least";
  EXPECT_EQ(scheduler.enqueue(5, {0, 0}, {1, 1}, kTestStart), Refusal::not_now) << "items";
  EXPECT_TRUE(scheduler.enqueue(6, {1, 0}, {1, 1}, kTestStart));
  EXPECT_EQ(scheduler.items(), 4U);
  EXPECT_EQ(scheduler.enqueue(7, {1, 1}, {1, 1}, kTestStart), Refusal::no_room) << "items of all";
  EXPECT_EQ(scheduler.dequeue(kTestStart)->handle, 1U);
  EXPECT_EQ(scheduler.enqueue(8, {1, 1}, {1, 1}, kTestStart), Refusal::no_room) << "flows";
  EXPECT_EQ(scheduler.items(), 3U);
}

TEST(Scheduler, ForgetsNoFlowThatWouldGainByIt) {
  Scheduler::Config config = one_class({.flow_rate = {.packets = PacketRate{1}, .burst_packets = 2}});
  config.max_flows = 2;
  Scheduler scheduler(config);
  for (const Scheduler::Handle handle : {1U, 2U}) scheduler.enqueue(handle, {0, 1}, {1, 1}, kTestStart);
  scheduler.enqueue(3, {0, 2}, {1, 1}, kTestStart);
  EXPECT_EQ(all_at(scheduler, kTestStart).size(), 3U);
  EXPECT_EQ(scheduler.enqueue(4, {0, 3}, {1, 1}, kTestStart), Refusal::no_room);
  EXPECT_EQ(scheduler.enqueue(4, {0, 3}, {1, 1}, kTestStart + 999'999'999ns), Refusal::no_room);
  EXPECT_TRUE(scheduler.enqueue(4, {0, 3}, {1, 1}, kTestStart + 1s))
      << "the second one's burst is at hand again";
  EXPECT_EQ(scheduler.flows(), 2U);
  for (const Scheduler::Handle handle : {5U, 6U}) scheduler.enqueue(handle, {0, 1}, {1, 1}, kTestStart + 1s);
  EXPECT_THAT(all_at(scheduler, kTestStart + 1s), testing::UnorderedElementsAre(4, 5))
      << "the first one is known";
}

TEST(Scheduler, ForgetsAFlowWithoutARateOnceItHasNothing) {
  Scheduler::Config config = one_class({});
  config.max_flows = 1;
  Scheduler scheduler(config);
  for (std::uint64_t flow = 0; flow < 100; ++flow) {
    EXPECT_TRUE(scheduler.enqueue(flow, {0, flow}, {1, 1}, kTestStart));
    EXPECT_EQ(scheduler.enqueue(flow, {0, flow + 1}, {1, 1}, kTestStart), Refusal::no_room);
    EXPECT_THAT(all_at(scheduler, kTestStart), ElementsAre(flow));
  }
}

// The link takes 1000 items a second and gets 2000.
TEST(Scheduler, GivesBackWhatCoDelDropsAndKeepsTheQueueShort) {
  Scheduler scheduler({.rate = kByteAMicrosecond,
                       .classes = {{.queue = {.items = 100'000}, .codel = Scheduler::Codel{}}},
                       .max_items = 100'000});
  std::vector<Instant> arrivals;
  std::map<Verdict, int> verdicts;
  std::vector<Instant> drops;
  for (int i = 0; i < 60'000; ++i) {
    const Instant now = kTestStart + i * 500us;
    arrivals.push_back(now);
    ASSERT_TRUE(scheduler.enqueue(arrivals.size() - 1, {0, 0}, {1, 1000}, now));
    run(scheduler, now, now + 500us, [&](const Scheduler::Departure& item, Instant at) {
      ++verdicts[item.verdict];
      if (item.verdict == Verdict::congested) drops.push_back(at);
    });
  }
  EXPECT_NEAR(verdicts[Verdict::send], 30'000, 2);
  ASSERT_GT(drops.size(), 1000U);
  // Of RFC 8289: an interval after it had waited for the target, then by the square root.
  EXPECT_NEAR(static_cast<double>((drops[0] - kTestStart) / 1ms), 110, 2);
  EXPECT_NEAR(static_cast<double>((drops[1] - drops[0]) / 1ms), 100, 2);
  EXPECT_NEAR(static_cast<double>((drops[2] - drops[1]) / 1ms), 71, 2);
  EXPECT_EQ(static_cast<std::size_t>(verdicts[Verdict::send]) + drops.size() + scheduler.items(), 60'000U);
}

TEST(Scheduler, CallsNoSlowFlowCongested) {
  Scheduler scheduler(one_class({.flow_rate = {.packets = PacketRate{1}}, .codel = Scheduler::Codel{}}));
  scheduler.enqueue(0, {0, 0}, {1, 1}, kTestStart);
  for (int i = 0; i < 100; ++i) {  // each waits for the one before it
    scheduler.enqueue(0, {0, 0}, {1, 1}, kTestStart + i * 1s);
    EXPECT_EQ(all_at(scheduler, kTestStart + i * 1s).size(), 1U);
  }
}

// Soon after, it would begin at the pace that it had.
TEST(Scheduler, ForgetsNoFlowOfWhichCoDelRemembersSomething) {
  Scheduler::Config config{.rate = kByteAMicrosecond, .classes = {{.codel = Scheduler::Codel{}}}};
  config.max_flows = 1;
  Scheduler scheduler(config);
  for (int i = 0; i < 1000; ++i) scheduler.enqueue(0, {0, 0}, {1, 1000}, kTestStart);
  int dropped = 0;
  const Instant end =
      run(scheduler, kTestStart, kTestStart + 1h, [&](const Scheduler::Departure& item, Instant) {
        dropped += item.verdict == Verdict::congested ? 1 : 0;
      });
  EXPECT_GT(dropped, 5);
  EXPECT_EQ(scheduler.enqueue(0, {0, 1}, {1, 1}, end + 1s), Refusal::no_room);
  EXPECT_TRUE(scheduler.enqueue(0, {0, 1}, {1, 1}, end + 2s));
}

TEST(Scheduler, GivesBackWhatIsTooOldWhenItsTurnComes) {
  Scheduler scheduler(
      one_class({.flow_rate = {.packets = PacketRate{1}}, .queue = {.longest_wait = 1500ms}}));
  for (Scheduler::Handle handle = 0; handle < 4; ++handle)
    scheduler.enqueue(handle, {0, 0}, {1, 1}, kTestStart + handle * 10ms);
  scheduler.enqueue(4, {0, 0}, {1, 1}, kTestStart + 1s);
  std::vector<std::pair<Scheduler::Handle, Verdict>> left;
  std::vector<Duration> at;
  run(scheduler, kTestStart + 1s, kTestStart + 1h, [&](const Scheduler::Departure& item, Instant now) {
    left.emplace_back(item.handle, item.verdict);
    at.push_back(now - kTestStart);
  });
  EXPECT_THAT(left, ElementsAre(std::pair(0, Verdict::send), std::pair(1, Verdict::too_old),
                                std::pair(2, Verdict::too_old), std::pair(3, Verdict::too_old),
                                std::pair(4, Verdict::send)));
  EXPECT_THAT(at, testing::SizeIs(5));
}

TEST(Scheduler, MakesUpForALateCallerUpToItsCatchUp) {
  for (const Duration catch_up : {Duration{0}, Duration{10ms}}) {
    Scheduler scheduler({.rate = kByteAMicrosecond, .classes = {{}}, .catch_up = catch_up});
    for (Scheduler::Handle handle = 0; handle < 1000; ++handle)
      scheduler.enqueue(handle, {0, 0}, {1, 1000}, kTestStart);
    std::size_t sent = 0;
    for (int i = 0; i < 100; ++i) sent += all_at(scheduler, kTestStart + i * 4ms).size();
    EXPECT_EQ(sent, catch_up == 0ms ? 100U : 397U) << "four in 4 ms, or one";
    const std::size_t after_a_pause = all_at(scheduler, kTestStart + 1h).size();
    EXPECT_EQ(after_a_pause, catch_up == 0ms ? 1U : 11U);
  }
}

TEST(Scheduler, StandsStillWhileTheClockIsBack) {
  Scheduler scheduler(one_class({.flow_rate = {.packets = PacketRate{1000}}}));
  for (Scheduler::Handle handle = 0; handle < 3; ++handle)
    scheduler.enqueue(handle, {0, 0}, {1, 1}, kTestStart);
  EXPECT_THAT(all_at(scheduler, kTestStart), ElementsAre(0));
  EXPECT_THAT(all_at(scheduler, kTestStart - 1h), IsEmpty());
  EXPECT_TRUE(scheduler.enqueue(3, {0, 1}, {1, 1}, kTestStart - 1h));
  const auto item = scheduler.dequeue(Instant::min());
  EXPECT_EQ(item->handle, 3U);
  EXPECT_EQ(item->at, kTestStart);
  EXPECT_EQ(scheduler.next_event(), kTestStart + 1ms);
}

// The same as with the latest instant in place of each that lies before it.
TEST(Scheduler, TakesAClockThatGoesBackForOneThatStandsStill) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    OddClock clock(random, 1ms);
    const Scheduler::Config config{
        .rate = kByteAMicrosecond,
        .classes = {{.guarantee = BitRate{1'000'000}, .flow_rate = {.packets = PacketRate{300}}},
                    {.ceiling = BitRate{4'000'000},
                     .queue = {.longest_wait = 20ms},
                     .codel = Scheduler::Codel{}}},
        .max_flows = 6};
    Scheduler odd(config);
    Scheduler steady(config);
    for (Scheduler::Handle handle = 0; handle < 3000; ++handle) {
      const Instant now = clock.next();
      if (random() % 2 == 0) {
        const Scheduler::Flow flow{static_cast<std::uint32_t>(random() % 2), random() % 5};
        const Cost cost{1, 64 + random() % 1400};
        ASSERT_EQ(odd.enqueue(handle, flow, cost, now), steady.enqueue(handle, flow, cost, clock.latest()));
      } else {
        const auto one = odd.dequeue(now);
        const auto other = steady.dequeue(clock.latest());
        ASSERT_EQ(one.has_value(), other.has_value()) << "seed " << seed;
        if (one) {
          ASSERT_EQ(std::tuple(one->handle, one->verdict, one->at),
                    std::tuple(other->handle, other->verdict, other->at));
        }
      }
      ASSERT_EQ(odd.next_event(), steady.next_event());
    }
  }
}

// Rates that divide nothing, for a year: each is exact to an item at the end.
TEST(Scheduler, DoesNotDriftInAYear) {
  Scheduler scheduler({.rate = BitRate{191},
                       .classes = {{.guarantee = BitRate{71}, .priority = 7},
                                   {.ceiling = BitRate{31}},
                                   {.flow_rate = {.packets = PacketRate{7, 36'000}}},
                                   {.flow_rate = {.bits = BitRate{11}}},
                                   {}}});
  constexpr std::uint64_t kBytes = 1499;
  std::vector<double> sent(5);
  for (std::uint32_t number = 0; number < 5; ++number)
    for (int i = 0; i < 2; ++i) scheduler.enqueue(number, {number, 0}, {1, kBytes}, kTestStart);
  run(scheduler, kTestStart, kTestStart + std::chrono::days(365),
      [&](const Scheduler::Departure& item, Instant now) {
        EXPECT_EQ(item.at, now);
        sent[item.handle] += kBytes;
        scheduler.enqueue(item.handle, {static_cast<std::uint32_t>(item.handle), 0}, {1, kBytes}, now);
      });
  constexpr double kSeconds = 365 * 86'400;
  EXPECT_NEAR(sent[0] + sent[1] + sent[2] + sent[3] + sent[4], kSeconds * 191 / 8, kBytes);
  EXPECT_NEAR(sent[0], kSeconds * 71 / 8, kBytes);
  EXPECT_NEAR(sent[1], kSeconds * 31 / 8, 2 * kBytes);
  // What a flow waits for the link is not made up for: at most an item of the link for each of its own.
  const double least = 1 / (1 + 11.0 / 191);
  EXPECT_LE(sent[3], kSeconds * 11 / 8 + kBytes);
  EXPECT_GE(sent[3], kSeconds * 11 / 8 * least * least);
  EXPECT_LE(sent[2], (kSeconds * 7 / 36'000 + 1) * kBytes);
}

// Of one flow, alone: to the nanosecond.
TEST(Scheduler, KeepsAFlowsRateExactForAYear) {
  Scheduler scheduler(one_class({.flow_rate = {.packets = PacketRate{7, 600}}}));
  scheduler.enqueue(0, {0, 0}, {1, 1}, kTestStart);
  scheduler.enqueue(0, {0, 0}, {1, 1}, kTestStart);
  std::int64_t sent = 0;
  Instant last;
  run(scheduler, kTestStart, kTestStart + std::chrono::days(365),
      [&](const Scheduler::Departure& item, Instant now) {
        ++sent;
        last = item.at;
        scheduler.enqueue(0, {0, 0}, {1, 1}, now);
      });
  EXPECT_EQ(sent, 365 * 86'400 * 7 / 600);
  EXPECT_EQ(last - kTestStart, Duration{(600'000'000'000 * (sent - 1) + 6) / 7});
}

TEST(Scheduler, GivesBackAllThatIsQueuedWhenItIsDrained) {
  Scheduler scheduler(
      {.rate = kByteAMicrosecond, .classes = {{.flow_rate = {.packets = PacketRate{1}}}, {}}});
  std::map<std::uint64_t, std::vector<Scheduler::Handle>> expected;
  for (Scheduler::Handle handle = 0; handle < 30; ++handle) {
    const std::uint64_t flow = handle % 6;
    scheduler.enqueue(handle, {static_cast<std::uint32_t>(flow % 2), flow}, {1, 100}, kTestStart);
    expected[flow].push_back(handle);
  }
  for (const Scheduler::Handle handle : all_at(scheduler, kTestStart))
    std::erase_if(expected[handle % 6], [&](Scheduler::Handle each) { return each == handle; });
  std::map<std::uint64_t, std::vector<Scheduler::Handle>> drained;
  while (const auto handle = scheduler.drain()) drained[*handle % 6].push_back(*handle);
  EXPECT_EQ(drained, expected);
  EXPECT_EQ(scheduler.items(), 0U);
  EXPECT_FALSE(scheduler.next_event());
  EXPECT_THAT(all_at(scheduler, kTestStart + 1s), IsEmpty());
  EXPECT_TRUE(scheduler.enqueue(99, {1, 1}, {1, 100}, kTestStart + 1s));
  EXPECT_EQ(scheduler.drain(), 99U);
}

TEST(Scheduler, DrainsOneFlowAndLeavesTheOthersAlone) {
  Scheduler scheduler(one_class({.flow_rate = {.bits = kByteAMicrosecond}}));
  scheduler.enqueue(1, {0, 1}, {1, 1000}, kTestStart);
  EXPECT_THAT(all_at(scheduler, kTestStart), ElementsAre(1));
  scheduler.enqueue(2, {0, 1}, {1, 100}, kTestStart);
  scheduler.enqueue(3, {0, 1}, {1, 100}, kTestStart);
  scheduler.enqueue(4, {0, 2}, {1, 1000}, kTestStart);
  EXPECT_EQ(scheduler.drain({0, 1}), 2U);
  EXPECT_EQ(scheduler.items({0, 1}), 1U);
  EXPECT_EQ(scheduler.drain({0, 1}), 3U);
  EXPECT_EQ(scheduler.drain({0, 1}), std::nullopt);
  EXPECT_EQ(scheduler.drain({0, 77}), std::nullopt);
  EXPECT_EQ(scheduler.next_event().value_or(Instant::max()) <= kTestStart, true);
  EXPECT_THAT(all_at(scheduler, kTestStart), ElementsAre(4));
  // What was drained is not paid for; what left is.
  scheduler.enqueue(5, {0, 1}, {1, 100}, kTestStart);
  EXPECT_EQ(scheduler.next_event(), kTestStart + 1ms);
}

// A flow that is drained in its round, and goes on there.
TEST(Scheduler, GoesOnWithAFlowThatWasDrainedInItsTurn) {
  Scheduler scheduler(
      {.rate = kByteAMicrosecond, .classes = {{.flow_rate = {.bits = kByteAMicrosecond}}, {.priority = 0}}});
  scheduler.enqueue(1, {0, 1}, {1, 1000}, kTestStart);
  EXPECT_THAT(all_at(scheduler, kTestStart), ElementsAre(1));
  scheduler.enqueue(2, {0, 1}, {1, 100}, kTestStart);
  scheduler.enqueue(3, {0, 2}, {1, 100}, kTestStart);
  for (int i = 0; i < 3; ++i) scheduler.enqueue(9, {1, 0}, {1, 1000}, kTestStart);
  EXPECT_THAT(all_at(scheduler, kTestStart + 1ms), ElementsAre(9));
  EXPECT_EQ(scheduler.drain({0, 1}), 2U);
  scheduler.enqueue(4, {0, 1}, {1, 500}, kTestStart + 1ms);
  std::vector<Scheduler::Handle> left;
  run(scheduler, kTestStart + 1ms, kTestStart + 1s,
      [&](const Scheduler::Departure& item, Instant) { left.push_back(item.handle); });
  EXPECT_THAT(left, testing::UnorderedElementsAre(9, 9, 3, 4));
  EXPECT_EQ(scheduler.items(), 0U);
}

TEST(Scheduler, TakesNoMemoryAfterItsConstructor) {
  Scheduler scheduler({.rate = kByteAMicrosecond,
                       .classes = {{.flow_rate = {.packets = PacketRate{500}}},
                                   {.queue = {.longest_wait = 50ms}, .codel = Scheduler::Codel{}}},
                       .max_items = 300,
                       .max_flows = 50});
  std::mt19937_64 random(1);
  const std::uint64_t before = memory_taken;
  std::uint64_t taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Instant now = kTestStart + i * 100us;
    const Scheduler::Flow flow{static_cast<std::uint32_t>(random() % 2), random() % 200};
    taken += scheduler.enqueue(0, flow, {1, random() % 1500}, now) ? 1 : 0;
    if (random() % 2 == 0) scheduler.dequeue(now);
    if (random() % 64 == 0) scheduler.drain(flow);
  }
  while (scheduler.drain()) {
  }
  EXPECT_EQ(memory_taken, before);
  EXPECT_GT(taken, 10'000U);
}

TEST(Scheduler, SurvivesTheLargestItemsTheLowestRatesAndTheEndsOfTime) {
  for (const Instant start : {Instant::min(), kTestStart, Instant::max()}) {
    Scheduler scheduler(
        {.rate = BitRate{2},
         .groups = {{.ceiling = BitRate{2}, .weight = Scheduler::kMostWeight}},
         .classes = {{.parent = 0,
                      .guarantee = BitRate{1},
                      .ceiling = BitRate{1},
                      .flow_rate = {.packets = PacketRate{1, 86'400},
                                    .bits = BitRate{1},
                                    .burst_packets = std::numeric_limits<std::uint64_t>::max(),
                                    .burst = DataSize{std::numeric_limits<std::uint64_t>::max()}},
                      .codel = Scheduler::Codel{},
                      .quantum = 1000},
                     {.flow_rate = {.packets = PacketRate{1, 86'400}, .bits = BitRate{1}},
                      .queue = {.longest_wait = Duration::max()},
                      .codel = Scheduler::Codel{}}},
         .catch_up = std::chrono::days(365)});
    const Cost largest{Scheduler::kMostUnits, Scheduler::kMostUnits};
    for (Scheduler::Handle handle = 0; handle < 8; ++handle)
      EXPECT_TRUE(
          scheduler.enqueue(handle, {static_cast<std::uint32_t>(handle % 2), handle % 4}, largest, start));
    Instant now = start;
    for (int i = 0; i < 100; ++i) {
      while (scheduler.dequeue(now)) {
      }
      now = scheduler.next_event().value_or(Instant::max());
    }
    while (scheduler.drain()) {
    }
    EXPECT_EQ(scheduler.items(), 0U);
  }
}

TEST(Scheduler, WithoutClassesOrPlacesRefusesAll) {
  Scheduler none(Scheduler::Config{});
  EXPECT_EQ(none.enqueue(1, {0, 0}, {1, 1}, kTestStart), Refusal::unknown);
  EXPECT_FALSE(none.dequeue(kTestStart));
  EXPECT_FALSE(none.drain());
  Scheduler no_items({.classes = {{}}, .max_items = 0});
  EXPECT_EQ(no_items.enqueue(1, {0, 0}, {1, 1}, kTestStart), Refusal::no_room);
  Scheduler no_flows({.classes = {{}}, .max_flows = 0});
  EXPECT_EQ(no_flows.enqueue(1, {0, 0}, {1, 1}, kTestStart), Refusal::no_room);
}

TEST(Scheduler, CanBeMoved) {
  Scheduler one(one_class({}));
  one.enqueue(7, {0, 0}, {1, 1}, kTestStart);
  Scheduler other(std::move(one));
  one = Scheduler(one_class({}));
  EXPECT_EQ(one.items(), 0U);
  one = std::move(other);
  EXPECT_THAT(all_at(one, kTestStart), ElementsAre(7));
}

std::string refusal_of(const Scheduler::Config& config) {
  try {
    const Scheduler scheduler(config);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(Scheduler, NamesWhatIsWrongWithItsTree) {
  const auto of_class = [](const Scheduler::Class& its_class) {
    return refusal_of(
        {.rate = BitRate{1000}, .groups = {{.ceiling = BitRate{500}}}, .classes = {{}, its_class}});
  };
  EXPECT_EQ(of_class({}), "none");
  EXPECT_EQ(of_class({.parent = 1}), "class 1: the parent must be a group that stands before it");
  EXPECT_EQ(of_class({.priority = 8}), "class 1: a priority is from 0 to 7");
  EXPECT_EQ(of_class({.weight = 0}), "class 1: a weight is from 1 to 10 000");
  EXPECT_EQ(of_class({.weight = 10'001}), "class 1: a weight is from 1 to 10 000");
  EXPECT_THAT(of_class({.ceiling = BitRate{0}}), HasSubstr("class 1: a ceiling is"));
  EXPECT_THAT(of_class({.guarantee = BitRate{0}}), HasSubstr("class 1: a guarantee is"));
  EXPECT_EQ(of_class({.guarantee = BitRate{1001}}), "the link: more is guaranteed than the ceiling allows");
  EXPECT_EQ(of_class({.parent = 0, .guarantee = BitRate{501}}),
            "group 0: more is guaranteed than the ceiling allows");
  EXPECT_EQ(of_class({.guarantee = BitRate{100}, .ceiling = BitRate{99}}),
            "class 1: more is guaranteed than the ceiling allows");
  EXPECT_EQ(refusal_of({.classes = {{.guarantee = BitRate{1}}}}),
            "class 0: a guarantee needs a rate of the link");
  EXPECT_EQ(refusal_of({.groups = {{.parent = 0}}}),
            "group 0: the parent must be a group that stands before it");
  EXPECT_THAT(of_class({.flow_rate = {.packets = PacketRate{0}}}), HasSubstr("class 1: a packet rate is"));
  EXPECT_THAT(of_class({.flow_rate = {.packets = PacketRate{1, 0}}}), HasSubstr("class 1: a packet rate is"));
  EXPECT_THAT(of_class({.flow_rate = {.bits = BitRate{0}}}), HasSubstr("class 1: a flow's bit rate is"));
  EXPECT_THAT(of_class({.queue = {.items = 0}}), HasSubstr("class 1: a queue has room"));
  EXPECT_THAT(of_class({.queue = {.bytes = DataSize{0}}}), HasSubstr("class 1: a queue has room"));
  EXPECT_THAT(of_class({.codel = Scheduler::Codel{.target = 0ms}}), HasSubstr("class 1: a target"));
  EXPECT_THAT(of_class({.quantum = 0}), HasSubstr("class 1: a quantum is"));
  EXPECT_THAT(refusal_of({.rate = BitRate{0}}), HasSubstr("scheduler: a rate of the link"));
  EXPECT_THAT(refusal_of({.catch_up = -1ms}), HasSubstr("scheduler: a time to catch up"));
}

}  // namespace
}  // namespace headgate
