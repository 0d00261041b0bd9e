#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <variant>

#include "budget/fake_redis.hpp"
#include "budget/lease_request.hpp"
#include "budget/lease_script.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

// Of three hosts that share 120 bit/s.
class LeaseScript : public testing::Test {
 protected:
  const std::string key = budget_key("uplink");
  FakeRedis redis{kLeaseScript};
  BudgetTerms terms{.rate = {120}, .floor = {1}, .hosts = 3, .lease = 2s};

  LeaseReply ask(const std::string& host, const LeaseRequest& request) {
    std::vector<std::string> arguments{host};
    append_arguments(request, arguments);
    return std::get<LeaseReply>(read_lease_reply(redis.run({key}, arguments).at(0)));
  }

  // With the terms, by a host that knows the epoch and acknowledges all before.
  LeaseReply ask(const std::string& host, std::uint64_t serial, std::uint64_t want, std::uint64_t aged = 0) {
    return ask(host, request(serial, want, aged));
  }
  LeaseRequest request(std::uint64_t serial, std::uint64_t want, std::uint64_t aged = 0) {
    return {.serial = serial,
            .acknowledged = serial - 1,
            .epoch = epoch,
            .aged = aged,
            .aged_for = terms.lease,
            .want = {want},
            .terms = terms};
  }

  // Nothing is unknown any more: the host "first" has proved that a lease is over.
  void learn() {
    epoch = ask("first", 1, 0).epoch;
    ask("first", 2, 0, 1);
  }

  std::string epoch;
};

TEST_F(LeaseScript, GrantsTheFloorUntilALeaseIsOver) {
  LeaseReply reply = ask("a", 1, 100);
  EXPECT_EQ(reply.grant, BitRate{1});
  EXPECT_EQ(reply.bound, GrantBound::learning);
  EXPECT_EQ(reply.event, 1U);
  EXPECT_EQ(reply.longest_lease, 2s);
  epoch = reply.epoch;
  EXPECT_EQ(ask("a", 2, 100).bound, GrantBound::learning);
  reply = ask("a", 3, 100, 1);
  EXPECT_EQ(reply.grant, BitRate{100});
  EXPECT_EQ(reply.bound, GrantBound::want);
  EXPECT_EQ(reply.used, BitRate{102}) << "the floors of two hosts that may be cut off";
  EXPECT_EQ(reply.live, 1U);
}

TEST_F(LeaseScript, TakesNoProofOfAnotherEpoch) {
  ask("a", 1, 100);
  epoch = "another";
  EXPECT_EQ(ask("a", 2, 100, 1).bound, GrantBound::learning);
}

TEST_F(LeaseScript, KeepsTheFloorsOfAllHostsFree) {
  learn();
  EXPECT_EQ(ask("first", 3, 1'000).grant, BitRate{118});
  EXPECT_EQ(ask("b", 1, 1'000).grant, BitRate{1}) << "the first has not given back anything yet";
}

TEST_F(LeaseScript, GivesBackOnlyWhatIsAcknowledged) {
  learn();
  ask("first", 3, 1'000);
  const LeaseReply waiting = ask("b", 1, 1'000);
  EXPECT_EQ(waiting.bound, GrantBound::others);
  EXPECT_EQ(waiting.share, BitRate{59});

  LeaseRequest unacknowledged = request(4, 1'000);
  unacknowledged.acknowledged = 2;
  EXPECT_EQ(ask("first", unacknowledged).grant, BitRate{59});
  EXPECT_EQ(ask("b", 2, 1'000).grant, BitRate{1}) << "118 may still be in force";
  unacknowledged.serial = 5;
  unacknowledged.acknowledged = 3;  // 118
  ask("first", unacknowledged);
  EXPECT_EQ(ask("b", 3, 1'000).grant, BitRate{1});
  ask("first", 6, 1'000);  // 59
  EXPECT_EQ(ask("b", 4, 1'000).grant, BitRate{59});
}

TEST_F(LeaseScript, CutsOffAtTheMaxMinShare) {
  learn();
  terms.hosts = 3;
  ask("first", 3, 10);
  ask("b", 1, 60);
  EXPECT_EQ(ask("c", 1, 1'000).share, BitRate{55});
  EXPECT_EQ(ask("b", 2, 60).share, BitRate{55});
  EXPECT_EQ(ask("b", 3, 50).share, BitRate{50});
  EXPECT_EQ(ask("c", 2, 1'000).share, BitRate{60});
  EXPECT_EQ(ask("first", 4, 10).share, BitRate{10});
}

TEST_F(LeaseScript, ForgetsAHostWhoseLastRequestIsAged) {
  learn();
  const std::uint64_t event = ask("b", 1, 100).event;
  EXPECT_EQ(ask("first", 3, 100, event - 1).live, 2U);
  EXPECT_EQ(ask("first", 4, 100, event).live, 1U);
  EXPECT_EQ(redis.data.at(key).fields.size(), 2U);
}

TEST_F(LeaseScript, ForgetsNoHostByTheProofOfAShorterLease) {
  learn();
  LeaseRequest longer = request(1, 100);
  longer.terms.lease = 4s;
  const std::uint64_t event = ask("b", longer).event;
  LeaseReply reply = ask("first", 3, 100, event);
  EXPECT_EQ(reply.live, 2U);
  EXPECT_EQ(reply.longest_lease, 4s);
  LeaseRequest proof = request(4, 100, event);
  proof.aged_for = 4s;
  EXPECT_EQ(ask("first", proof).live, 1U);
}

TEST_F(LeaseScript, ChangesNothingForAnOldRequest) {
  learn();
  ask("b", 5, 10);
  const FakeData before = redis.data;
  for (const std::uint64_t serial : {4, 5}) {
    const LeaseReply reply = ask("b", serial, 100);
    EXPECT_EQ(reply.bound, GrantBound::old);
    EXPECT_EQ(reply.serial, serial);
  }
  EXPECT_EQ(redis.data.at(key).fields, before.at(key).fields);
}

TEST_F(LeaseScript, GrantsNothingToMoreHostsThanAgreed) {
  learn();
  ask("b", 1, 10);
  ask("c", 1, 10);
  const LeaseReply reply = ask("d", 1, 10);
  EXPECT_EQ(reply.bound, GrantBound::hosts);
  EXPECT_EQ(reply.grant, BitRate{1});
  EXPECT_EQ(reply.live, 3U);
  EXPECT_EQ(redis.data.at(key).fields.size(), 4U);
}

TEST_F(LeaseScript, TakesTheStrictestOfDifferentTerms) {
  learn();
  LeaseRequest other = request(1, 1'000);
  other.terms = {.rate = {90}, .floor = {2}, .hosts = 10, .lease = 1s};
  EXPECT_FALSE(ask("b", other).agreed);
  const LeaseReply reply = ask("first", 3, 1'000);
  EXPECT_FALSE(reply.agreed);
  EXPECT_EQ(reply.share, BitRate{(90 - 8 * 2) / 2});
  EXPECT_EQ(ask("first", 4, 1'000).longest_lease, 2s);
}

TEST_F(LeaseScript, BeginsAnewWithAnotherServersData) {
  learn();
  ask("first", 3, 100);
  redis.restart(redis.data);
  const LeaseReply reply = ask("first", 4, 100);
  EXPECT_EQ(reply.bound, GrantBound::learning);
  EXPECT_NE(reply.epoch, epoch);
  EXPECT_EQ(reply.event, 1U);
}

TEST_F(LeaseScript, BeginsAnewWithDataOfAnotherForm) {
  learn();
  redis.data.at(key).fields.at("@budget").replace(0, 1, "2");
  EXPECT_EQ(ask("first", 3, 100).bound, GrantBound::learning);
}

TEST_F(LeaseScript, LetsTheHashExpireAfterSomeLeases) {
  ask("a", 1, 0);
  EXPECT_EQ(redis.data.at(key).expiry, redis.clock + 60s);
  terms.lease = 30s;
  ask("a", 2, 0);
  EXPECT_EQ(redis.data.at(key).expiry, redis.clock + 300s);
}

TEST_F(LeaseScript, CountsExactlyUpToTheLargestRates) {
  terms = {.rate = kMaxBitRate, .floor = {399'999'999}, .hosts = 1'000, .lease = 2s};
  learn();
  EXPECT_EQ(ask("first", 3, 399'999'999'999).grant, BitRate{400'000'000'000 - 999ULL * 399'999'999});
}

TEST_F(LeaseScript, AnswersForSeveralBudgets) {
  std::vector<std::string> arguments{"a"};
  append_arguments(request(1, 10), arguments);
  append_arguments(request(7, 10), arguments);
  const auto lines = redis.run({"one", "two"}, arguments);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(std::get<LeaseReply>(read_lease_reply(lines[0])).serial, 1U);
  EXPECT_EQ(std::get<LeaseReply>(read_lease_reply(lines[1])).serial, 7U);
}

TEST_F(LeaseScript, RefusesAnotherNumberOfArguments) {
  EXPECT_THAT(
      [&] {
        redis.run({key}, {"a", "1"});
      },
      testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("a budget takes 7 arguments")));
}

}  // namespace
}  // namespace headgate
