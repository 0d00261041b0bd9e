#include "headgate/keyed.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "headgate/fixed_window.hpp"
#include "headgate/leaky_bucket.hpp"
#include "headgate/sliding_window.hpp"
#include "headgate/token_bucket.hpp"
#include "support/manual_clock.hpp"
#include "support/odd_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

TEST(Keyed, GivesEachKeyALimiterOfItsOwn) {
  Keyed<std::string, TokenBucket> clients(10, TokenBucket(UnitRate(1, 1s), 2));
  EXPECT_TRUE(clients.allow("one", 2, kTestStart));
  EXPECT_EQ(clients.allow("one", 1, kTestStart), Refusal::not_now);
  EXPECT_TRUE(clients.allow("other", 2, kTestStart));
  EXPECT_EQ(clients.allow("other", 3, kTestStart), Refusal::too_many);
  EXPECT_EQ(clients.size(), 2u);
}

TEST(Keyed, ForgetsNobodyWhoWouldGainByIt) {
  Keyed<int, TokenBucket> clients(2, TokenBucket(UnitRate(1, 1s), 2));
  EXPECT_TRUE(clients.allow(1, 2, kTestStart));
  EXPECT_TRUE(clients.allow(2, 1, kTestStart));
  EXPECT_EQ(clients.allow(3, 1, kTestStart), Refusal::no_room);
  EXPECT_EQ(clients.allow(3, 1, kTestStart + 999'999'999ns), Refusal::no_room);
  EXPECT_TRUE(clients.allow(3, 1, kTestStart + 1s)) << "the second one's bucket is full again";
  EXPECT_EQ(clients.find(1, kTestStart + 1s)->tokens(kTestStart + 1s), 1) << "the first one is known still";
  EXPECT_EQ(clients.size(), 2u);
}

TEST(Keyed, FindsThePlaceOfAKeyThatGaveBackWhatItReserved) {
  Keyed<int, TokenBucket> clients(1, TokenBucket(UnitRate(1, 1s), 1));
  clients.allow(1, 1, kTestStart);
  Reservation made = clients.find(1, kTestStart)->reserve(1, kTestStart);
  EXPECT_EQ(clients.allow(2, 1, kTestStart + 1s), Refusal::no_room);
  clients.find(1, kTestStart + 1s)->cancel(made, kTestStart + 1s);
  EXPECT_TRUE(clients.allow(2, 1, kTestStart + 1s));
}

TEST(Keyed, StandsStillForAllKeysWhileTheClockIsBack) {
  Keyed<int, FixedWindow> clients(1, FixedWindow(1, 1s, FixedWindow::Begin::first_event));
  clients.allow(1, 1, kTestStart);
  EXPECT_TRUE(clients.allow(2, 1, kTestStart + 1s));
  EXPECT_EQ(clients.allow(1, 1, kTestStart), Refusal::no_room);
  EXPECT_EQ(clients.now(), kTestStart + 1s);
}

TEST(Keyed, ForgetsAllThatAreIdleWhenAsked) {
  Keyed<int, LeakyMeter> clients(100, LeakyMeter(UnitRate(1, 1s), 5));
  for (int key = 0; key < 10; ++key) clients.allow(key, static_cast<std::uint64_t>(key), kTestStart);
  clients.forget_idle(kTestStart + 4s);
  EXPECT_EQ(clients.size(), 5u);
}

TEST(Keyed, ChangesAllItsLimitersAndThoseToCome) {
  Keyed<int, TokenBucket> clients(10, TokenBucket(UnitRate(1, 1s), 1));
  clients.allow(1, 1, kTestStart);
  clients.change([](TokenBucket& bucket) { bucket.set_rate(UnitRate(10, 1s), kTestStart); }, kTestStart);
  EXPECT_TRUE(clients.allow(1, 1, kTestStart + 100ms));
  EXPECT_TRUE(clients.allow(2, 1, kTestStart));
  EXPECT_TRUE(clients.allow(2, 1, kTestStart + 200ms));
}

TEST(Keyed, WithoutPlacesRefusesAll) {
  Keyed<int, TokenBucket> clients(0, TokenBucket(UnitRate(1, 1s), 1));
  EXPECT_EQ(clients.allow(1, 1, kTestStart), Refusal::no_room);
}

// Beside it as many limiters as there are keys, none ever forgotten: whoever is let in is told the same, and nobody is
// turned away while one could have gone.
template <typename Limiter>
void agrees_with_unbounded(const Limiter& fresh, Duration usual) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t places = 1 + random() % 6;
    OddClock clock(random, usual);
    Keyed<int, Limiter> keyed(places, fresh);
    std::map<int, Limiter> unbounded;
    for (int i = 0; i < 1'000; ++i) {
      const int key = static_cast<int>(random() % 10);
      const std::uint64_t n = 1 + random() % 3;
      const Answer answer = keyed.allow(key, n, clock.next());
      ASSERT_LE(keyed.size(), places);
      if (answer.refusal == Refusal::no_room) {
        std::size_t busy = 0;
        for (const auto& [each, limiter] : unbounded) busy += limiter.as_new_at() > clock.latest() ? 1 : 0;
        ASSERT_EQ(busy, places) << "seed " << seed << ", step " << i;
      } else {
        ASSERT_EQ(unbounded.try_emplace(key, fresh).first->second.allow(n, clock.latest()), answer)
            << "seed " << seed << ", step " << i;
      }
    }
  }
}

TEST(Keyed, AgreesWithAnUnboundedNumberOfEachKindOfLimiter) {
  agrees_with_unbounded(TokenBucket(UnitRate(3, 1s), 4), 100ms);
  agrees_with_unbounded(LeakyBucket(UnitRate(3, 1s), 4), 100ms);
  agrees_with_unbounded(LeakyMeter(UnitRate(3, 1s), 4), 100ms);
  agrees_with_unbounded(FixedWindow(4, 1s), 100ms);
  agrees_with_unbounded(FixedWindow(4, 1s, FixedWindow::Begin::first_event), 100ms);
  agrees_with_unbounded(SlidingLog(4, 1s), 100ms);
  agrees_with_unbounded(SlidingCounters(4, 1s), 100ms);
}

}  // namespace
}  // namespace headgate
