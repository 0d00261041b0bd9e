// What the limiters keep at the server: when it is written, how long it stays, and what it means to another
// limiter.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "headgate/redis/fixed_window.hpp"
#include "headgate/redis/gcra.hpp"
#include "headgate/redis/sliding_window.hpp"
#include "headgate/redis/token_bucket.hpp"
#include "support/manual_clock.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;
using redis::Standing;
using redis::Trouble;

using Allow = std::function<Standing(std::string_view key, std::uint64_t n, std::optional<Instant> now)>;

template <typename Limiter>
Allow allow_of(Limiter limiter) {
  return [limiter](std::string_view key, std::uint64_t n, std::optional<Instant> now) mutable {
    return now ? limiter.allow(key, n, *now) : limiter.allow(key, n);
  };
}

// Numbers of a state: "gcra 12 3 4" gives 12, 3, 4.
std::vector<std::int64_t> numbers_of(const std::string& state) {
  std::istringstream words(state);
  std::string kind;
  words >> kind;
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

class RedisState : public testing::Test {
 protected:
  struct Kind {
    std::string name;
    Allow allow;
    // From the key's value: since when, in microseconds, the limiter is as a new one.
    std::function<std::int64_t()> as_new_at;
  };

  // Five units each, that take 70 s.
  std::vector<Kind> kinds() {
    const UnitRate rate(5, 70s);
    const auto state = [this](const char* key) { return numbers_of(server_.ask({"GET", key})); };
    return {
        {"gcra", allow_of(redis::Gcra(connection_, "gcra", rate, 5)),
         [state] {
           const auto numbers = state("gcra:key");
           return numbers[0] + (numbers[1] > 0 ? 1 : 0);
         }},
        {"tokens", allow_of(redis::TokenBucket(connection_, "tokens", rate, 5)),
         [state] {
           const auto numbers = state("tokens:key");  // a microsecond brings one part
           return numbers[2] + 5 * numbers[1] - numbers[0];
         }},
        {"fixed", allow_of(redis::FixedWindow(connection_, "fixed", 5, 70s)),
         [state] { return state("fixed:key")[0] + 70'000'000; }},
        {"counters", allow_of(redis::SlidingCounters(connection_, "counters", 5, 70s)),
         [state] { return state("counters:key")[0] + 140'000'000; }},
        {"log", allow_of(redis::SlidingLog(connection_, "log", 5, 70s)),
         [this] {
           const std::string newest = server_.ask({"ZRANGE", "log:key", "-1", "-1", "WITHSCORES"});
           return std::stoll(newest.substr(newest.find(' '))) + 70'000'000;
         }},
    };
  }

  test::RedisServer server_;
  redis::Connection connection_{{.address = server_.address(), .timeout = 30s}};
};

TEST_F(RedisState, ARefusalAndALookWriteNothing) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const long before = server_.changes();
    EXPECT_TRUE(kind.allow("key", 0, std::nullopt)) << "a look at what is new";
    EXPECT_EQ(server_.ask({"EXISTS", kind.name + ":key"}), "0");
    EXPECT_EQ(kind.allow("key", 6, std::nullopt), Answer{Refusal::too_many});
    EXPECT_EQ(server_.changes(), before);
    while (kind.allow("key", 1, std::nullopt)) {
    }
    const long full = server_.changes();
    EXPECT_GE(full, before + 5);
    const std::string value = server_.ask({"DUMP", kind.name + ":key"});
    const std::string expiry = server_.ask({"PEXPIRETIME", kind.name + ":key"});
    for (const std::uint64_t n : {1, 5, 6, 0}) kind.allow("key", n, std::nullopt);
    EXPECT_EQ(server_.changes(), full);
    EXPECT_EQ(server_.ask({"DUMP", kind.name + ":key"}), value);
    EXPECT_EQ(server_.ask({"PEXPIRETIME", kind.name + ":key"}), expiry);
  }
}

TEST_F(RedisState, AKeyExpiresWhenItsLimiterIsAsNewAndNoSooner) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    for (int call = 0; call < 3; ++call) {
      ASSERT_TRUE(kind.allow("key", 1, std::nullopt));
      const std::int64_t expiry = std::stoll(server_.ask({"PEXPIRETIME", kind.name + ":key"}));
      EXPECT_GE(expiry * 1'000, kind.as_new_at());
      EXPECT_LE(expiry * 1'000, kind.as_new_at() + 1'000);
    }
  }
}

TEST_F(RedisState, AKeyGoesByItself) {
  redis::Gcra gcra(connection_, "gcra", UnitRate(1, 1ms), 1);
  ASSERT_TRUE(gcra.allow("key", 1));
  for (int i = 0; i < 10'000 && server_.ask({"EXISTS", "gcra:key"}) == "1"; ++i) {
  }
  EXPECT_EQ(server_.ask({"DBSIZE"}), "0");
}

TEST_F(RedisState, AKeyAtAGivenTimeStays) {
  for (const Kind& kind : kinds()) {
    ASSERT_TRUE(kind.allow("key", 1, kTestStart));
    EXPECT_EQ(server_.ask({"PTTL", kind.name + ":key"}), "-1") << kind.name;
  }
}

TEST_F(RedisState, EachKeyHasALimitOfItsOwn) {
  for (const Kind& kind : kinds()) {
    EXPECT_TRUE(kind.allow("alice", 5, kTestStart)) << kind.name;
    EXPECT_FALSE(kind.allow("alice", 1, kTestStart)) << kind.name;
    EXPECT_TRUE(kind.allow(std::string_view("\0 \r\n\xff", 5), 5, kTestStart)) << kind.name;
  }
}

TEST_F(RedisState, AClockThatGoesBackStandsStill) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    ASSERT_TRUE(kind.allow("key", 5, kTestStart));
    const Standing standing = kind.allow("key", 1, kTestStart - 1h);
    EXPECT_EQ(standing, Answer{Refusal::not_now});
    ASSERT_TRUE(standing.retry_after);
    EXPECT_TRUE(kind.allow("key", 1, kTestStart - 1h + *standing.retry_after));
  }
}

// A Gcra keeps a time, to which even more is missing then.
TEST_F(RedisState, WhatIsAtHandPassesAfterTheClockHasGoneBack) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    ASSERT_TRUE(kind.allow("key", 2, kTestStart));
    EXPECT_EQ(static_cast<bool>(kind.allow("key", 2, kTestStart - 1h)), kind.name != "gcra");
    if (kind.name == "gcra") continue;
    EXPECT_FALSE(kind.allow("key", 2, kTestStart - 1h));
    EXPECT_EQ(kind.allow("key", 0, kTestStart).remaining, 1u);
    EXPECT_EQ(kind.allow("key", 0, kTestStart + 140s).remaining, 5u);
  }
}

TEST_F(RedisState, AClockThatJumpsAheadBringsNoMoreThanTheBurst) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    ASSERT_TRUE(kind.allow("key", 5, kTestStart));
    const Instant later = kTestStart + std::chrono::days(10'000);
    EXPECT_EQ(kind.allow("key", 0, later).remaining, 5u);
    EXPECT_TRUE(kind.allow("key", 5, later));
    EXPECT_FALSE(kind.allow("key", 1, later));
  }
}

TEST_F(RedisState, AnotherRateForgivesNothing) {
  redis::Gcra thirds(connection_, "gcra", UnitRate(3, 1s), 3);
  redis::Gcra sevenths(connection_, "gcra", UnitRate(7, 1s), 7);
  EXPECT_TRUE(thirds.allow("key", 1, kTestStart));
  EXPECT_EQ(sevenths.allow("key", 0, kTestStart).reset_after, 333'334us);

  redis::TokenBucket slow(connection_, "tokens", UnitRate(3, 1s), 3);
  redis::TokenBucket fast(connection_, "tokens", UnitRate(7, 3s), 7);
  EXPECT_TRUE(slow.allow("key", 1, kTestStart));
  EXPECT_EQ(fast.allow("key", 0, kTestStart).remaining, 2u);
  EXPECT_EQ(fast.allow("key", 0, kTestStart + 3s).remaining, 7u) << "2 and 7, but no more than the burst";
}

TEST_F(RedisState, AnotherLimitForgivesNothing) {
  const auto both = [](Allow wide, Allow narrow, const char* name) {
    EXPECT_TRUE(wide("key", 5, kTestStart)) << name;
    const Standing standing = narrow("key", 0, kTestStart);
    EXPECT_EQ(standing, Answer{Refusal::not_now}) << name;
    EXPECT_EQ(standing.remaining, 0u) << name;
  };
  both(allow_of(redis::FixedWindow(connection_, "fixed", 5, 1min)),
       allow_of(redis::FixedWindow(connection_, "fixed", 3, 1min)), "fixed");
  both(allow_of(redis::SlidingLog(connection_, "log", 5, 1min)),
       allow_of(redis::SlidingLog(connection_, "log", 3, 1min)), "log");
  both(allow_of(redis::SlidingCounters(connection_, "counters", 5, 1min)),
       allow_of(redis::SlidingCounters(connection_, "counters", 3, 1min)), "counters");
}

// Up to 2^53 sums are exact.
TEST_F(RedisState, ALogCountsAnewBeforeItsSumsAreInexact) {
  redis::SlidingLog log(connection_, "log", 5, 1s);
  const auto microseconds = [](Instant at) { return std::to_string(at.time_since_epoch() / 1us); };
  server_.ask({"ZADD", "log:key", microseconds(kTestStart - 2s), "4503599627370496"});
  server_.ask({"ZADD", "log:key", microseconds(kTestStart - 500ms), "4503599627370498"});
  EXPECT_TRUE(log.allow("key", 2, kTestStart));
  EXPECT_EQ(server_.ask({"ZRANGE", "log:key", "0", "-1"}), "0000000000000002 0000000000000004");
  EXPECT_EQ(log.allow("key", 0, kTestStart).remaining, 1u);
  EXPECT_EQ(log.allow("key", 2, kTestStart).retry_after, 500ms);
  EXPECT_EQ(log.allow("key", 0, kTestStart + 500ms).remaining, 3u);
}

TEST_F(RedisState, ALogKeepsOneEventThatHasLeftTheWindow) {
  redis::SlidingLog log(connection_, "log", 5, 1s);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(log.allow("key", 1, kTestStart + i * 200ms));
  EXPECT_EQ(server_.ask({"ZCARD", "log:key"}), "6");
}

TEST_F(RedisState, RefusesAValueThatItHasNotWritten) {
  for (const Kind& kind : kinds()) {
    for (const std::string value : {"hello", "17", "other 1 2", "gcra 1 2", ""}) {
      server_.ask({"SET", kind.name + ":key", value});
      try {
        kind.allow("key", 1, std::nullopt);
        ADD_FAILURE() << kind.name << " takes '" << value << "'";
      } catch (const redis::Error& error) {
        EXPECT_EQ(error.trouble(), Trouble::foreign_value) << error.what();
        EXPECT_NE(std::string(error.what()).find("use a name of its own"), std::string::npos) << error.what();
      }
      EXPECT_EQ(server_.ask({"GET", kind.name + ":key"}), value);
    }
  }
}

// What is thrown, as text.
template <typename Attempt>
std::string refusal(Attempt attempt) {
  try {
    attempt();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing";
}

TEST_F(RedisState, AKeyIsBounded) {
  redis::Gcra gcra(connection_, "api", UnitRate(1, 1s), 1);
  EXPECT_TRUE(gcra.allow(std::string(508, 'k'), 1));
  EXPECT_EQ(refusal([&] { gcra.allow(std::string(509, 'k'), 1); }),
            "a key of limiter 'api' has at most 508 bytes, not 509");
  EXPECT_EQ(refusal([&] { redis::Gcra(connection_, "", UnitRate(1, 1s), 1); }),
            "a limiter's name has 1 … 511 bytes, not 0");
}

TEST_F(RedisState, RefusesWhatItCannotCountExactly) {
  EXPECT_EQ(
      refusal([&] { redis::Gcra(connection_, "g", UnitRate(10'000'000'000'000'001, 60'000'000s), 1); }),
      "this rate has too many units in lowest terms for Redis to count exactly; up to 4·10^12 always can be");
  EXPECT_EQ(refusal([&] { redis::Gcra(connection_, "g", UnitRate(1, std::chrono::days(365)), 80); }),
            "a burst shared by Redis takes less than 71 years at its rate");
  EXPECT_EQ(refusal([&] {
              redis::TokenBucket(connection_, "t", UnitRate(999'999'937, std::chrono::days(1)), 104'250);
            }),
            "a token bucket of this rate counts a burst of 104249 exactly, not of 104250; redis::Gcra does");
  EXPECT_EQ(refusal([&] { redis::FixedWindow(connection_, "f", 1, 1'500ns); }),
            "a window shared by Redis is 1 us … 71 years long, in whole microseconds");
  EXPECT_EQ(refusal([&] { redis::FixedWindow(connection_, "f", (1ull << 52) + 1, 1s); }),
            "a limit shared by Redis is at most 2^52");
  EXPECT_EQ(refusal([&] { redis::SlidingLog(connection_, "l", (1ull << 51) + 1, 1s); }),
            "a limit of a log shared by Redis is at most 2^51");
  EXPECT_EQ(
      refusal([&] { redis::SlidingCounters(connection_, "c", 60'000, std::chrono::days(1)); }),
      "counters of windows this long count a limit of 52124 exactly, not of 60000; redis::SlidingLog does");
  redis::Gcra gcra(connection_, "g", UnitRate(1, 1s), 1);
  EXPECT_EQ(refusal([&] { gcra.allow("key", 1, Instant(-1us)); }),
            "a time is 0 … 142 years after the clock's zero");
}

TEST_F(RedisState, ABurstOfNothingRefusesAll) {
  redis::Gcra gcra(connection_, "g", UnitRate(1, 1s), 0);
  redis::TokenBucket bucket(connection_, "t", UnitRate(1, 1s), 0);
  for (const std::uint64_t n : {std::uint64_t{1}, UINT64_MAX}) {
    EXPECT_EQ(gcra.allow("key", n), Answer{Refusal::too_many});
    EXPECT_EQ(bucket.allow("key", n), Answer{Refusal::too_many});
  }
  EXPECT_TRUE(gcra.allow("key", 0));
  EXPECT_TRUE(bucket.allow("key", 0));
}

}  // namespace
}  // namespace headgate
