// One key of each limiter, hammered by four processes for a second.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>

#include "headgate/redis/fixed_window.hpp"
#include "headgate/redis/gcra.hpp"
#include "headgate/redis/sliding_window.hpp"
#include "headgate/redis/token_bucket.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr int kProcesses = 4;
constexpr std::uint64_t kRate = 2'000;  // units a second
constexpr std::uint64_t kBurst = 50;
constexpr std::uint64_t kLimit = 40;
constexpr Duration kLength = 50ms;

// Shared by the processes.
struct Counts {
  std::atomic<std::uint64_t> bucket, gcra, window, log;  // units that have passed
  std::atomic<int> finished;
};

Counts& shared_counts() {
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Counts{};
}

void hammer(const std::string& address, Counts& counts) {
  redis::Connection connection({.address = address, .timeout = 30s});
  redis::TokenBucket bucket(connection, "bucket", UnitRate(kRate, 1s), kBurst);
  redis::Gcra gcra(connection, "gcra", UnitRate(kRate, 1s), kBurst);
  redis::FixedWindow window(connection, "window", kLimit, kLength);
  redis::SlidingLog log(connection, "log", kLimit, kLength);
  const auto end = std::chrono::steady_clock::now() + 1s;
  for (std::uint64_t n = 1; std::chrono::steady_clock::now() < end; n = n % 5 + 1) {
    if (bucket.allow("key", n)) counts.bucket += n;
    if (gcra.allow("key", n)) counts.gcra += n;
    if (window.allow("key", n)) counts.window += n;
    if (log.allow("key", n)) counts.log += n;
  }
  ++counts.finished;
}

// Of the server, in microseconds.
std::uint64_t time_of(test::RedisServer& server) {
  return std::stoull(server.ask({"EVAL", "local t = redis.call('TIME') return t[1] * 1000000 + t[2]", "0"}));
}

TEST(RedisProcesses, NeverPassMoreThanTheLawAllows) {
  test::RedisServer server;
  Counts& counts = shared_counts();
  const std::uint64_t begin = time_of(server);
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() == 0) {
      hammer(server.address(), counts);
      _exit(0);
    }
  }
  for (int i = 0; i < kProcesses; ++i) wait(nullptr);
  const std::uint64_t end = time_of(server);

  ASSERT_EQ(counts.finished, kProcesses);
  const std::uint64_t of_rate = kBurst + (end - begin) * kRate / 1'000'000;
  EXPECT_LE(counts.bucket, of_rate);
  EXPECT_LE(counts.gcra, of_rate);
  const std::uint64_t length = kLength / 1us;
  EXPECT_LE(counts.window, kLimit * (end / length - begin / length + 1));
  EXPECT_LE(counts.log, kLimit * ((end - begin) / length + 1));
  for (const std::uint64_t each : {counts.bucket.load(), counts.gcra.load()}) EXPECT_GE(each, kBurst - 5);
  for (const std::uint64_t each : {counts.window.load(), counts.log.load()}) EXPECT_GE(each, kLimit - 5);
}

}  // namespace
}  // namespace headgate
