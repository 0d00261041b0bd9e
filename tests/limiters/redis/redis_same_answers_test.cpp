// Each limiter shared by Redis says what the local one says, at random times to random requests.
#include <gtest/gtest.h>

#include <random>

#include "headgate/fixed_window.hpp"
#include "headgate/gcra.hpp"
#include "headgate/redis/fixed_window.hpp"
#include "headgate/redis/gcra.hpp"
#include "headgate/redis/sliding_window.hpp"
#include "headgate/redis/token_bucket.hpp"
#include "headgate/sliding_window.hpp"
#include "headgate/token_bucket.hpp"
#include "support/manual_clock.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{std::chrono::floor<std::chrono::microseconds>(kTestStart.time_since_epoch())};

// The local algorithm with the answers of a meter.
class GcraMeter {
 public:
  GcraMeter(UnitRate rate, std::uint64_t burst) : gcra_(rate, burst), bucket_(rate, burst), burst_(burst) {}

  Answer allow(std::uint64_t n, Instant now) {
    bucket_.allow(n, now);
    if (n > burst_) return Refusal::too_many;
    if (gcra_.earliest(n, now) > now) return Refusal::not_now;
    gcra_.commit(n, now);
    return {};
  }
  std::uint64_t left(Instant now) { return static_cast<std::uint64_t>(bucket_.tokens(now)); }
  Instant as_new_at() const { return gcra_.as_new_at(); }

 private:
  Gcra gcra_;
  TokenBucket bucket_;
  std::uint64_t burst_;
};

std::uint64_t left(TokenBucket& bucket, Instant now) {
  return static_cast<std::uint64_t>(bucket.tokens(now));
}
template <typename Limiter>
std::uint64_t left(Limiter& limiter, Instant now) {
  return limiter.left(now);
}

template <typename Limiter>
void expect_passes_then_and_not_before(const Limiter& limiter, std::uint64_t n, Instant now, Duration wait) {
  ASSERT_GT(wait, 0us);
  EXPECT_TRUE(Limiter(limiter).allow(n, now + wait)) << "after " << wait.count() << " ns";
  EXPECT_FALSE(Limiter(limiter).allow(n, now + wait - 1us))
      << "a microsecond before " << wait.count() << " ns";
}

// What Standing says of requests up to one above the limit, in steps of up to twice `span`.
template <typename Shared, typename Local>
void compare(Shared shared, Local local, std::uint64_t limit, Duration span, std::mt19937_64& random) {
  Instant now = kStart;
  for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const std::uint64_t reach =
        2 * static_cast<std::uint64_t>(span / 1us) / (random() % 2 == 0 ? 1 : limit) + 1;
    if (random() % 3 != 0) now += random() % reach * 1us;
    const std::uint64_t n = random() % (limit + 2);
    const redis::Standing standing = shared.allow("key", n, now);
    const Answer answer = local.allow(n, now);
    EXPECT_EQ(standing.refusal, answer.refusal) << n << " units";
    EXPECT_EQ(standing.limit, limit);
    EXPECT_EQ(standing.remaining, left(local, now));
    EXPECT_EQ(standing.reset_after,
              std::max(Duration::zero(),
                       Duration(std::chrono::ceil<std::chrono::microseconds>(local.as_new_at() - now))));
    ASSERT_EQ(standing.retry_after.has_value(), n <= limit);
    if (answer) {
      EXPECT_EQ(*standing.retry_after, 0us);
    } else if (answer == Refusal::not_now) {
      expect_passes_then_and_not_before(local, n, now, *standing.retry_after);
    }
  }
}

class RedisSameAnswers : public testing::Test {
 protected:
  // repeat(what) calls it with random numbers of a seed and the name of a new limiter.
  template <typename What>
  void repeat(What what) {
    for (std::uint32_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      what(random, std::to_string(seed));
    }
  }

  static UnitRate random_rate(std::mt19937_64& random) {
    return UnitRate(1 + random() % 1'000, Duration(1 + random() % 10'000'000'000));
  }
  static Duration random_length(std::mt19937_64& random) { return (1 + random() % 1'000'000) * 1us; }

  test::RedisServer server_;
  redis::Connection connection_{{server_.address()}};
};

TEST_F(RedisSameAnswers, Gcra) {
  repeat([&](std::mt19937_64& random, const std::string& name) {
    const UnitRate rate = random_rate(random);
    const std::uint64_t burst = 1 + random() % 20;
    compare(redis::Gcra(connection_, name, rate, burst), GcraMeter(rate, burst), burst, rate.time_for(burst),
            random);
  });
}

TEST_F(RedisSameAnswers, TokenBucket) {
  repeat([&](std::mt19937_64& random, const std::string& name) {
    const UnitRate rate = random_rate(random);
    const std::uint64_t burst = 1 + random() % 20;
    compare(redis::TokenBucket(connection_, name, rate, burst), TokenBucket(rate, burst), burst,
            rate.time_for(burst), random);
  });
}

TEST_F(RedisSameAnswers, FixedWindow) {
  for (const auto begin : {FixedWindow::Begin::aligned, FixedWindow::Begin::first_event}) {
    repeat([&](std::mt19937_64& random, const std::string& name) {
      const Duration length = random_length(random);
      const std::uint64_t limit = 1 + random() % 20;
      compare(redis::FixedWindow(connection_, name + (begin == FixedWindow::Begin::aligned ? "a" : "f"),
                                 limit, length, begin),
              FixedWindow(limit, length, begin), limit, length, random);
    });
  }
}

TEST_F(RedisSameAnswers, SlidingLog) {
  repeat([&](std::mt19937_64& random, const std::string& name) {
    const Duration length = random_length(random);
    const std::uint64_t limit = 1 + random() % 20;
    compare(redis::SlidingLog(connection_, name, limit, length), SlidingLog(limit, length), limit, length,
            random);
  });
}

TEST_F(RedisSameAnswers, SlidingCounters) {
  repeat([&](std::mt19937_64& random, const std::string& name) {
    const Duration length = random_length(random);
    const std::uint64_t limit = 1 + random() % 20;
    compare(redis::SlidingCounters(connection_, name, limit, length), SlidingCounters(limit, length), limit,
            length, random);
  });
}

TEST_F(RedisSameAnswers, KeepsEveryRemainderAtTheBoundOfWhatIsExact) {
  const UnitRate rate(999'999'937, std::chrono::days(1));
  const std::uint64_t burst = 100'000;
  std::mt19937_64 random(1);
  compare(redis::Gcra(connection_, "gcra", rate, burst), GcraMeter(rate, burst), burst, rate.time_for(burst),
          random);
  compare(redis::TokenBucket(connection_, "tokens", rate, burst), TokenBucket(rate, burst), burst,
          rate.time_for(burst), random);
}

}  // namespace
}  // namespace headgate
