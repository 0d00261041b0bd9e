#include "headgate/shared.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "headgate/leaky_bucket.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <typename Limiter>
void await_waiters(const Shared<Limiter>& shared, std::size_t number) {
  while (shared.waiting() != number) std::this_thread::sleep_for(1ms);
}

// Without those who wait.
template <typename Limiter>
std::int64_t tokens(Shared<Limiter>& shared) {
  std::int64_t number = 0;
  shared.change([&](Limiter& limiter, Instant now) { number = limiter.tokens(now); });
  return number;
}

TEST(Shared, RefusesAtOnceWhoeverAsksForMoreThanThereIs) {
  Shared shared(TokenBucket(UnitRate(1, 1h), 2), 10);
  EXPECT_EQ(shared.wait(3), Refusal::too_many);
  EXPECT_TRUE(shared.wait(2));
  EXPECT_EQ(shared.allow(1), Refusal::not_now);
  EXPECT_EQ(shared.wait(1, {}, Clock::now() + 1min), Refusal::not_now) << "an hour would be its turn";
  EXPECT_EQ(shared.wait(1, {}, Clock::now() - 1min), Refusal::not_now);
}

TEST(Shared, SpacesExactlyHoweverLateItsCallersAre) {
  Shared shared(LeakyBucket(UnitRate(1, 2ms), 100), 1);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(shared.wait(1));
    EXPECT_GE(Clock::now() - start, i * 2ms);
  }
  std::int64_t level = 0;
  shared.change([&](LeakyBucket& bucket, Instant now) { level = bucket.level(now); });
  EXPECT_LE(level, 1);
}

TEST(Shared, ServesInOrder) {
  Shared shared(LeakyBucket(UnitRate(1, 20ms), 100), 100);
  std::mutex mutex;
  std::vector<int> served;
  std::vector<std::jthread> threads;
  const Clock::time_point start = Clock::now();
  std::vector<Clock::duration> after(6);
  ASSERT_TRUE(shared.wait(6));  // so the others wait 120 ms, and all of them are there by then
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(shared.wait(1));
      const std::lock_guard lock(mutex);
      after[static_cast<std::size_t>(i)] = Clock::now() - start;
      served.push_back(i);
    });
    await_waiters(shared, static_cast<std::size_t>(i) + 1);
  }
  threads.clear();
  EXPECT_EQ(served, (std::vector{0, 1, 2, 3, 4, 5}));
  for (int i = 0; i < 6; ++i) EXPECT_GE(after[static_cast<std::size_t>(i)], (6 + i) * 20ms);
}

TEST(Shared, RefusesMoreWaitersThanMayWait) {
  Shared shared(TokenBucket(UnitRate(1, 1h), 1), 2);
  ASSERT_TRUE(shared.wait(1));
  std::jthread one([&](std::stop_token stop) { EXPECT_EQ(shared.wait(1, stop), Refusal::cancelled); });
  std::jthread other([&](std::stop_token stop) { EXPECT_EQ(shared.wait(1, stop), Refusal::cancelled); });
  await_waiters(shared, 2);
  EXPECT_EQ(shared.wait(1), Refusal::no_room);
  EXPECT_EQ(tokens(shared), 0) << "who is refused takes nothing";
}

TEST(Shared, LetsNobodyPassBeforeThoseWhoWait) {
  Shared shared(TokenBucket(UnitRate(1, 1h), 2), 10);
  EXPECT_TRUE(shared.allow(1));
  std::jthread waiter([&](std::stop_token stop) { EXPECT_EQ(shared.wait(2, stop), Refusal::cancelled); });
  await_waiters(shared, 1);
  EXPECT_EQ(shared.allow(1), Refusal::not_now) << "a token is at hand, but it is the waiter's";
  waiter.request_stop();
  waiter.join();
  EXPECT_TRUE(shared.allow(1)) << "it has been given back";
}

TEST(Shared, RefusesWhoeverComesWithAStop) {
  Shared shared(TokenBucket(UnitRate(1, 1s), 1), 10);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(shared.wait(1, source.get_token()), Refusal::cancelled);
  EXPECT_EQ(tokens(shared), 1);
}

TEST(Shared, MovesUpThoseBehindOneWhoGivesUp) {
  Shared shared(TokenBucket(UnitRate(1, 1h), 1), 10);
  ASSERT_TRUE(shared.wait(1));
  std::vector<std::jthread> waiters;
  std::atomic<int> passed = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    waiters.emplace_back([&](std::stop_token stop) { passed += shared.wait(1, stop) ? 1 : 0; });
    await_waiters(shared, i + 1);
  }
  waiters[1].request_stop();
  await_waiters(shared, 2);
  shared.change([](TokenBucket& bucket, Instant now) { bucket.set_rate(UnitRate(1, 1ms), now); });
  await_waiters(shared, 0);
  waiters.clear();
  EXPECT_EQ(passed, 2);
}

TEST(Shared, RefusesWaitersWhoseTurnMovesPastTheirDeadline) {
  Shared shared(TokenBucket(UnitRate(1, 1h), 2), 10);
  ASSERT_TRUE(shared.wait(2));
  Answer impatient, large;
  std::jthread one([&] { impatient = shared.wait(1, {}, Clock::now() + 2h); });
  await_waiters(shared, 1);
  std::jthread other([&] { large = shared.wait(2); });
  await_waiters(shared, 2);
  shared.change([](TokenBucket& bucket, Instant now) {
    bucket.set_rate(UnitRate(1, 10h), now);
    bucket.set_burst(1, now);
  });
  one.join();
  other.join();
  EXPECT_EQ(impatient, Refusal::not_now);
  EXPECT_EQ(large, Refusal::too_many);
}

TEST(Shared, KeepsTheLawAmongManyThreadsThatComeAndGiveUp) {
  constexpr std::uint64_t kBurst = 5;
  Shared shared(TokenBucket(UnitRate(5, 1ms), kBurst), 4);
  std::atomic<std::uint64_t> passed = 0;
  const Clock::time_point start = Clock::now();
  std::vector<std::jthread> threads;
  for (int number = 0; number < 6; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t n = static_cast<std::uint64_t>(1 + (i + number) % 5);
        if (i % 7 == number) {
          std::stop_source source;
          std::jthread stopper([&source] { source.request_stop(); });
          passed += shared.wait(n, source.get_token()) ? n : 0;
        } else if (i % 5 == 0) {
          passed += shared.allow(n) ? n : 0;
        } else {
          passed += shared.wait(n, {}, Clock::now() + 3ms) ? n : 0;
        }
      }
    });
  }
  threads.clear();
  const UnitRate rate(5, 1ms);
  EXPECT_LE(passed, kBurst + rate.in(std::chrono::duration_cast<Duration>(Clock::now() - start) + 1ns));
  EXPECT_GT(passed, kBurst);
  EXPECT_EQ(shared.waiting(), 0u);
}

}  // namespace
}  // namespace headgate
