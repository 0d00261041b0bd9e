// The script in a Redis server says what it says in FakeRedis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "budget/fake_redis.hpp"
#include "budget/lease_request.hpp"
#include "budget/lease_script.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

struct Call {
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

std::string epoch_of(const std::string& line) {
  return line.substr(0, line.find(' '));
}

class ScriptInRedis : public testing::Test {
 protected:
  ScriptInRedis() : sha(server.ask({"SCRIPT", "LOAD", std::string(kLeaseScript)})) {}

  std::string run(const Call& call) {
    std::vector<std::string> words{"EVALSHA", sha, std::to_string(call.keys.size())};
    words.insert(words.end(), call.keys.begin(), call.keys.end());
    words.insert(words.end(), call.arguments.begin(), call.arguments.end());
    return server.ask(words);
  }

  // But for the name of the epoch.
  void expect_same(const Call& call) {
    std::string there = run(call);
    epoch_there = epoch_of(there);
    Call here = call;
    std::replace(here.arguments.begin(), here.arguments.end(), epoch_there, epoch_here);
    std::string line;
    for (const std::string& budget : fake.run(here.keys, here.arguments)) {
      epoch_here = epoch_of(budget);
      line += (line.empty() ? "" : " ") + budget.substr(epoch_here.size());
    }
    for (std::size_t at = there.find(epoch_there); at != std::string::npos; at = there.find(epoch_there))
      there.erase(at, epoch_there.size());
    EXPECT_EQ(there, line);
  }

  test::RedisServer server;
  std::string sha;
  FakeRedis fake{kLeaseScript};
  std::string epoch_here;
  std::string epoch_there;
};

Call one_host(std::size_t budgets) {
  Call call{{}, {"host"}};
  for (std::size_t budget = 1; budget <= budgets; ++budget) {
    call.keys.push_back(budget_key(std::to_string(budget)));
    append_arguments({.serial = budget, .want = {7}, .terms = {{10}, {1}, 2, 2s}}, call.arguments);
  }
  return call;
}

// Of one of some hosts: anything that a host may say, and some that none should.
Call some_call(std::mt19937& random, std::uint64_t serial, const std::string& epoch) {
  const auto pick = [&random](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  Call call{{budget_key("uplink")}, {"host-" + std::to_string(pick(1, 6))}};
  const BudgetTerms terms{.rate = {pick(0, 9) == 0 ? 90'000'000U : 120'000'000U},
                          .floor = {1'000'000},
                          .hosts = 5,
                          .lease = pick(0, 9) == 0 ? 3s : 2s};
  append_arguments({.serial = pick(0, 9) == 0 ? serial - std::min(serial, pick(1, 8)) : serial,
                    .acknowledged = serial - std::min(serial, pick(1, 8)),
                    .epoch = pick(0, 9) == 0 ? "another" : epoch,
                    .aged = serial - std::min(serial, pick(2, 30)),
                    .aged_for = pick(0, 3) == 0 ? 3s : 2s,
                    .want = {pick(0, 120'000'000)},
                    .terms = terms},
                   call.arguments);
  return call;
}

TEST_F(ScriptInRedis, SaysTheSameAsInTheModel) {
  std::mt19937 random(3);
  expect_same(some_call(random, 2, "-"));
  for (std::uint64_t serial = 3; serial < 2'000 && !HasFailure(); ++serial)
    expect_same(some_call(random, serial, epoch_there));
}

TEST_F(ScriptInRedis, ServesSeveralBudgetsAtOnce) {
  const Call call = one_host(2);
  EXPECT_THAT(run(call), testing::MatchesRegex(".* 1 1 1 learning 7 .* 1 2 1 learning 7 .*"));
  for (const std::string& key : call.keys) {
    const int left = std::stoi(server.ask({"PTTL", key}));
    EXPECT_GT(left, 50'000);
    EXPECT_LE(left, 60'000);
  }
}

TEST_F(ScriptInRedis, BeginsAnewWithoutItsData) {
  expect_same(one_host(1));
  const std::string before = epoch_there;
  server.ask({"FLUSHALL"});
  fake.data.clear();
  expect_same(one_host(1));
  EXPECT_NE(epoch_there, before);
}

TEST_F(ScriptInRedis, BeginsAnewAfterARestartWithItsData) {
  const Call call = one_host(1);
  expect_same(call);
  const std::string before = epoch_there;
  server.ask({"SAVE"});
  server.stop();
  server.start();
  ASSERT_EQ(server.ask({"EXISTS", call.keys.front()}), "1");
  server.ask({"SCRIPT", "LOAD", std::string(kLeaseScript)});
  fake.restart(fake.data);
  expect_same(call);
  EXPECT_NE(epoch_there, before);
}

TEST_F(ScriptInRedis, RefusesAnotherNumberOfArguments) {
  EXPECT_THAT(
      [this] {
        run({{budget_key("uplink")}, {"host", "1"}});
      },
      testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("a budget takes 7 arguments")));
}

}  // namespace
}  // namespace headgate
