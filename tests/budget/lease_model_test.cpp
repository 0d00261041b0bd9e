#include "budget/lease_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "budget/lease_script.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kParts = 10;
constexpr std::uint64_t kRunsOfPart = 1'000;

// Parts of 10 000 runs.
class RandomRuns : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomRuns, NeverExceedTheRate) {
  FakeRedis redis(kLeaseScript);
  double use = 0;
  for (std::uint64_t run = 0; run < kRunsOfPart; ++run) {
    const std::uint64_t seed = GetParam() * kRunsOfPart + run;
    LeaseModel model(redis, seed, {});
    ASSERT_TRUE(model.run()) << "seed " << seed << ": " << model.overshoot();
    use += model.mean_use();
  }
  EXPECT_GT(use / kRunsOfPart, 0.3) << "runs that grant next to nothing prove nothing";
}

INSTANTIATE_TEST_SUITE_P(Part, RandomRuns, testing::Range<std::uint64_t>(0, kParts));

// Most flaws show in the first hundred runs, the rarest in seven hundred.
bool exceeds_the_rate(std::string_view script, HostFlaw flaw) {
  constexpr std::uint64_t kRuns = 5'000;
  FakeRedis redis(script);
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    if (!LeaseModel(redis, seed, {.flaw = flaw}).run()) return true;
  }
  return false;
}

// A rule of the script, and the script without it.
struct ScriptFlaw {
  const char* name;
  std::string_view rule;
  std::string_view without;
};

constexpr ScriptFlaw kScriptFlaws[] = {
    {"IgnoresWhatOthersMayStillUse", "if rate - used < grant then", "if false then"},
    {"CountsTheNewestGrantAlone", "local usage = max(grant, most)", "local usage = grant"},
    {"NeedsNoAcknowledgement", "if ack ~= its_serial then", "if false then"},
    {"ServesOldRequests", "if serial <= its_serial then", "if false then"},
    {"KeepsNoFloorsFree", "max(0, hosts - live) * floor", "0"},
    {"TakesProofsOfLaterEvents", "its_event <= aged and", "its_event <= aged + 4 and"},
    {"TakesProofsOfAnotherEpoch", "if epoch ~= its_epoch then aged = 0 end", ""},
    {"RepeatsEpochs", "return time[1] .. '.' .. time[2] .. '-' .. serial", "return 'epoch'"},
    {"LearnsNothing", "if learning == '1' then", "if false then"},
    {"LearnsForSomeEvents", "if aged > 0 and aged_for >= longest then", "if tonumber(event) > 4 then"},
    {"TrustsAnOldCopy", "if its_server ~= server then", "if not its_server then"},
    {"GoesByTheServersClock", "if epoch ~= its_epoch then aged = 0 end",
     "local time = redis.call('TIME') event = digits(time[1] * 1000000 + time[2]) aged = event - 1.01 * "
     "own_lease"},
};

void PrintTo(const ScriptFlaw& flaw, std::ostream* out) {
  *out << flaw.name;
}

class ModelOfAScriptThat : public testing::TestWithParam<ScriptFlaw> {};

TEST_P(ModelOfAScriptThat, ExceedsTheRate) {
  std::string script(kLeaseScript);
  const std::size_t at = script.find(GetParam().rule);
  ASSERT_NE(at, std::string::npos) << "the script has no longer: " << GetParam().rule;
  script.replace(at, GetParam().rule.size(), GetParam().without);
  EXPECT_TRUE(exceeds_the_rate(script, HostFlaw::none));
}

INSTANTIATE_TEST_SUITE_P(Flaw, ModelOfAScriptThat, testing::ValuesIn(kScriptFlaws),
                         [](const auto& one) { return one.param.name; });

constexpr std::array kHostFlaws{"None", "AcknowledgesEarly", "CountsItsLeaseFromTheReply",
                                "TakesAReplyFromTheAsking", "SendsOnAfterAStop"};

class ModelOfAHostThat : public testing::TestWithParam<HostFlaw> {};

TEST_P(ModelOfAHostThat, ExceedsTheRate) {
  EXPECT_TRUE(exceeds_the_rate(kLeaseScript, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Flaw, ModelOfAHostThat,
                         testing::Values(HostFlaw::acknowledges_early, HostFlaw::lease_from_the_reply,
                                         HostFlaw::reply_from_the_asking, HostFlaw::sends_on_after_stop),
                         [](const auto& one) { return kHostFlaws.at(static_cast<std::size_t>(one.param)); });

// Max-min shares by their definition: the rate is poured in, a drop for each that still wants, until it is empty.
std::vector<double> poured_shares(const std::vector<double>& wants, double rate) {
  std::vector<double> shares(wants.size(), 0);
  const double drop = rate / 100'000;
  for (bool someone_wants = true; someone_wants && rate > 0;) {
    someone_wants = false;
    for (std::size_t host = 0; host < wants.size(); ++host) {
      if (shares[host] >= wants[host]) continue;
      shares[host] += drop;
      rate -= drop;
      someone_wants = true;
    }
  }
  return shares;
}

constexpr Duration kLearned = 2'400ms;  // the lease is 2 s
constexpr Duration kAsk = 250ms;

BudgetTerms terms_of(std::uint32_t hosts) {
  return {.rate = {120'000'000}, .floor = {1'000'000}, .hosts = hosts, .lease = 2s};
}

std::vector<std::uint64_t> megabits(const LeaseModel& model, std::size_t hosts) {
  std::vector<std::uint64_t> rates;
  for (std::size_t host = 0; host < hosts; ++host)
    rates.push_back(model.in_force(host).bits_per_second / 1'000'000);
  return rates;
}

TEST(CalmHosts, ShareByMaxMinFairness) {
  FakeRedis redis(kLeaseScript);
  LeaseModel model(redis, 1, {.is_calm = true}, terms_of(3), 3);
  for (const std::size_t host : {0, 1, 2})
    model.want(host, {std::vector{1'000, 60, 10}[host] * 1'000'000ULL});
  model.run_until(kLearned);
  EXPECT_EQ(megabits(model, 3), (std::vector<std::uint64_t>{55, 55, 10}));

  model.want(1, {50'000'000});
  model.run_until(kLearned + 2 * kAsk);
  EXPECT_EQ(megabits(model, 3), (std::vector<std::uint64_t>{60, 50, 10}));
}

TEST(CalmHosts, KeepTheFloorsOfThoseFreeThatMayCome) {
  FakeRedis redis(kLeaseScript);
  LeaseModel model(redis, 1, {.is_calm = true}, terms_of(21), 1);
  model.want(0, {1'000'000'000});
  model.run_until(kLearned);
  EXPECT_EQ(megabits(model, 1), (std::vector<std::uint64_t>{100}));
}

TEST(CalmHosts, GetWhatADeadOneLeaves) {
  FakeRedis redis(kLeaseScript);
  LeaseModel model(redis, 1, {.is_calm = true}, terms_of(2), 2);
  model.want(0, {1'000'000'000});
  model.want(1, {1'000'000'000});
  model.run_until(kLearned);
  ASSERT_EQ(megabits(model, 2), (std::vector<std::uint64_t>{60, 60}));
  model.stop_forever(0);
  model.run_until(kLearned + 2s);
  EXPECT_EQ(megabits(model, 2), (std::vector<std::uint64_t>{0, 60})) << "the lease is not over";
  model.run_until(kLearned + 2s + 3 * kAsk);
  EXPECT_EQ(megabits(model, 2), (std::vector<std::uint64_t>{0, 119}));
}

// Wants change; three asks later all hosts have their shares, and the rate is used as far as it is wanted.
TEST(CalmHosts, HaveTheirNewSharesWithinThreeAsks) {
  FakeRedis redis(kLeaseScript);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t hosts = 2 + seed % 9;
    LeaseModel model(redis, seed, {.is_calm = true}, terms_of(static_cast<std::uint32_t>(hosts)), hosts);
    Duration time = kLearned;
    for (int change = 0; change < 4; ++change) {
      model.run_until(time);
      std::vector<double> wants;
      for (std::size_t host = 0; host < hosts; ++host) {
        wants.push_back(std::uniform_real_distribution<>(1e6, 60e6)(random));
        model.want(host, {static_cast<std::uint64_t>(wants.back())});
      }
      time += 3 * kAsk;
      ASSERT_TRUE(model.run_until(time)) << model.overshoot();
      const std::vector<double> shares = poured_shares(wants, 120e6);
      double sum = 0;
      for (std::size_t host = 0; host < hosts; ++host) {
        const auto granted = static_cast<double>(model.in_force(host).bits_per_second);
        EXPECT_NEAR(granted, shares[host], 120e6 / 10'000) << "seed " << seed << " host " << host;
        sum += granted;
      }
      EXPECT_GE(sum, 0.95 * std::min(120e6, std::accumulate(wants.begin(), wants.end(), 0.0)));
    }
  }
}

}  // namespace
}  // namespace headgate
