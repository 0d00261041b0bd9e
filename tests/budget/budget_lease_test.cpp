#include "budget/budget_lease.hpp"

#include <gtest/gtest.h>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr BudgetTerms kTerms{.rate = {100'000}, .floor = {1'000}, .hosts = 10, .lease = 2s};

LeaseReply reply_to(const LeaseRequest& request, BitRate grant, GrantBound bound = GrantBound::want,
                    std::uint64_t event = 1, const std::string& epoch = "epoch") {
  return {.epoch = epoch,
          .event = event,
          .serial = request.serial,
          .grant = grant,
          .bound = bound,
          .longest_lease = request.terms.lease};
}

// Asks, is answered at once, and the workers apply it at once.
LeaseRequest renew(BudgetLease& lease, Instant now, BitRate grant, std::uint64_t event = 1) {
  const LeaseRequest request = lease.ask({50'000}, now, 0);
  lease.on_reply(reply_to(request, grant, GrantBound::want, event), now);
  lease.on_applied(request.serial, now);
  return request;
}

TEST(BudgetLease, IsTheFloorBeforeTheFirstGrant) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  EXPECT_EQ(lease.lease().at(kTestStart), BitRate{1'000});
  EXPECT_EQ(lease.next_ask(), kTestStart);
  EXPECT_EQ(BudgetLease(kTerms, OnLoss::hold, kTestStart).lease().at(kTestStart), BitRate{1'000});
  EXPECT_EQ(BudgetLease(kTerms, OnLoss::open, kTestStart).lease().at(kTestStart), std::nullopt);
}

TEST(BudgetLease, LastsFromTheAsking) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  const LeaseRequest request = lease.ask({50'000}, kTestStart, 0);
  EXPECT_EQ(request.serial, 1U);
  EXPECT_EQ(request.want, BitRate{50'000});
  EXPECT_TRUE(lease.on_reply(reply_to(request, {40'000}), kTestStart + 100ms));
  EXPECT_EQ(lease.lease().at(kTestStart + 2s - 1ns), BitRate{40'000});
  EXPECT_EQ(lease.lease().at(kTestStart + 2s), BitRate{1'000});
}

TEST(BudgetLease, WhenCutOffHoldsTheLastGrantOrHasNoLimit) {
  BudgetLease hold(kTerms, OnLoss::hold, kTestStart);
  renew(hold, kTestStart, {40'000});
  EXPECT_EQ(hold.lease().at(kTestStart + 1h), BitRate{40'000});
  BudgetLease open(kTerms, OnLoss::open, kTestStart);
  renew(open, kTestStart, {40'000});
  EXPECT_EQ(open.lease().at(kTestStart + 1s), BitRate{40'000});
  EXPECT_EQ(open.lease().at(kTestStart + 2s), std::nullopt);
}

TEST(BudgetLease, IgnoresLateAndDoubledReplies) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  const LeaseRequest late = lease.ask({50'000}, kTestStart, 0);
  const LeaseRequest newest = lease.ask({50'000}, kTestStart + 500ms, 0);
  EXPECT_FALSE(lease.on_reply(reply_to(late, {40'000}), kTestStart + 501ms));
  EXPECT_TRUE(lease.on_reply(reply_to(newest, {30'000}), kTestStart + 502ms));
  EXPECT_FALSE(lease.on_reply(reply_to(newest, {60'000}), kTestStart + 503ms));
  EXPECT_EQ(lease.lease().rate, BitRate{30'000});
}

TEST(BudgetLease, AcknowledgesWhatAllWorkersApply) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {40'000});
  const LeaseRequest second = lease.ask({50'000}, kTestStart + 250ms, 0);
  EXPECT_EQ(second.acknowledged, 1U);
  lease.on_reply(reply_to(second, {30'000}), kTestStart + 251ms);
  lease.on_applied(1, kTestStart + 252ms);
  EXPECT_EQ(lease.ask({50'000}, kTestStart + 500ms, 0).acknowledged, 1U);
}

TEST(BudgetLease, AsksOftenButWaitsForTheAnswerAndTheWorkers) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  const LeaseRequest request = lease.ask({50'000}, kTestStart, 0);
  EXPECT_EQ(lease.next_ask(), kTestStart + 500ms) << "the answer is lost by then";
  lease.on_reply(reply_to(request, {40'000}), kTestStart + 1ms);
  EXPECT_EQ(lease.next_ask(), kTestStart + 500ms) << "the workers have it by then";
  lease.on_applied(1, kTestStart + 2ms);
  EXPECT_EQ(lease.next_ask(), kTestStart + 250ms);
  lease.ask({50'000}, kTestStart + 250ms, 1);
  lease.on_connection_lost(kTestStart + 260ms);
  EXPECT_EQ(lease.next_ask(), kTestStart + 281'250us) << "a server that is gone is not asked all the time";
  lease.on_connection_lost(kTestStart + 400ms);
  EXPECT_EQ(lease.next_ask(), kTestStart + 400ms);
}

TEST(BudgetLease, AsksALittleEarlierAtRandom) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  const LeaseRequest request = lease.ask({50'000}, kTestStart, 0.5);
  lease.on_reply(reply_to(request, {40'000}), kTestStart);
  lease.on_applied(1, kTestStart);
  EXPECT_EQ(lease.next_ask(), kTestStart + 250ms - 15'625us);
}

TEST(BudgetLease, AsksSoonWhenItGivesBackAndTheBudgetIsFull) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {40'000});
  LeaseReply reply = reply_to(lease.ask({10'000}, kTestStart + 250ms, 0), {10'000});
  reply.used = {100'000};
  lease.on_reply(reply, kTestStart + 251ms);
  lease.on_applied(2, kTestStart + 252ms);
  EXPECT_EQ(lease.next_ask(), kTestStart + 281'250us);

  reply = reply_to(lease.ask({5'000}, kTestStart + 500ms, 0), {5'000});
  reply.used = {50'000};
  lease.on_reply(reply, kTestStart + 501ms);
  lease.on_applied(3, kTestStart + 502ms);
  EXPECT_EQ(lease.next_ask(), kTestStart + 750ms) << "nobody waits for it";
}

TEST(BudgetLease, AsksSoonWhenItWaitsForOthersButNotWhenManyAsk) {
  const auto waits = [](std::uint32_t live, GrantBound bound = GrantBound::others, std::size_t budgets = 1) {
    BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
    lease.set_budgets(budgets);
    LeaseReply reply = reply_to(lease.ask({50'000}, kTestStart, 0), {30'000}, bound);
    reply.live = live;
    lease.on_reply(reply, kTestStart + 1ms);
    lease.on_applied(1, kTestStart + 2ms);
    return lease.next_ask() - kTestStart;
  };
  EXPECT_EQ(waits(1), 31'250us);
  EXPECT_EQ(waits(8), 31'250us);
  EXPECT_EQ(waits(8, GrantBound::share), 31'250us);
  EXPECT_EQ(waits(8, GrantBound::want), 250ms);
  EXPECT_EQ(waits(16), 62'500us);
  EXPECT_EQ(waits(32), 125ms);
  EXPECT_EQ(waits(64), 250ms);
  EXPECT_EQ(waits(1'000), 250ms);
  EXPECT_EQ(waits(4, GrantBound::others, 2), 31'250us);
  EXPECT_EQ(waits(8, GrantBound::others, 2), 62'500us);
  EXPECT_EQ(waits(3, GrantBound::share, 1'000), 250ms);
}

TEST(BudgetLease, AsksLessOftenWhereMoreThan64Share) {
  const auto second_ask = [](std::uint32_t live) {
    BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
    for (int serial = 1; serial <= 2; ++serial) {
      LeaseReply reply = reply_to(lease.ask({30'000}, kTestStart, 0), {30'000});
      reply.live = live;
      lease.on_reply(reply, kTestStart + 1ms);
      lease.on_applied(static_cast<std::uint64_t>(serial), kTestStart + 2ms);
    }
    return lease.next_ask() - kTestStart;
  };
  EXPECT_EQ(second_ask(64), 250ms);
  EXPECT_EQ(second_ask(100), 390'625us);
  EXPECT_EQ(second_ask(10'000), 500ms);
}

TEST(BudgetLease, AsksSoonWhenDemandIsAnotherThanWhatIsGranted) {
  const auto asks = [](BitRate want) {
    BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
    lease.on_reply(reply_to(lease.ask({40'000}, kTestStart, 0), {40'000}), kTestStart + 1ms);
    lease.on_demand({0});
    EXPECT_EQ(lease.next_ask(), kTestStart + 500ms) << "the workers come first";
    lease.on_applied(1, kTestStart + 2ms);
    lease.on_demand(want);
    return lease.next_ask() - kTestStart;
  };
  EXPECT_EQ(asks({34'999}), 31'250us);
  EXPECT_EQ(asks({35'000}), 250ms);
  EXPECT_EQ(asks({45'000}), 250ms);
  EXPECT_EQ(asks({45'001}), 31'250us);
}

TEST(BudgetLease, HasNothingToGiveBackAtItsFloor) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {1'000});
  lease.on_demand({0});
  EXPECT_EQ(lease.next_ask(), kTestStart + 250ms);
}

TEST(BudgetLease, ProvesThatALeaseIsOverByTheFirstReplyThatIsOldEnough) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  for (int ask = 0; ask <= 8; ++ask) {
    const LeaseRequest request = renew(lease, kTestStart + ask * 250ms, {40'000}, 100 + ask);
    EXPECT_EQ(request.aged, 0U) << "a lease after event 100 its clock may be wrong";
    EXPECT_EQ(request.aged_for, 2s);
  }
  EXPECT_EQ(lease.ask({0}, kTestStart + 2020ms - 1ns, 0).aged, 0U);
  EXPECT_EQ(lease.ask({0}, kTestStart + 2020ms, 0).aged, 100U);
  EXPECT_EQ(lease.ask({0}, kTestStart + 2270ms, 0).aged, 101U);
  EXPECT_EQ(lease.ask({0}, kTestStart + 1h, 0).aged, 108U);
}

TEST(BudgetLease, ProvesNothingByAnotherEpoch) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {40'000}, 100);
  const LeaseRequest request = lease.ask({0}, kTestStart + 250ms, 0);
  EXPECT_EQ(request.epoch, "epoch");
  lease.on_reply(reply_to(request, {1'000}, GrantBound::learning, 1, "new"), kTestStart + 250ms);
  const LeaseRequest later = lease.ask({0}, kTestStart + 2100ms, 0);
  EXPECT_EQ(later.epoch, "new");
  EXPECT_EQ(later.aged, 0U);
}

TEST(BudgetLease, ProvesForTheLongestLeaseOfAllHosts) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  LeaseReply reply = reply_to(lease.ask({0}, kTestStart, 0), {1'000});
  reply.longest_lease = 4s;
  lease.on_reply(reply, kTestStart);
  EXPECT_EQ(lease.ask({0}, kTestStart + 4039ms, 0).aged, 0U);
  const LeaseRequest request = lease.ask({0}, kTestStart + 4040ms, 0);
  EXPECT_EQ(request.aged, 1U);
  EXPECT_EQ(request.aged_for, 4s);
}

TEST(BudgetLease, StaysAsItIsWhileRedisLearns) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {40'000});
  const LeaseRequest request = lease.ask({50'000}, kTestStart + 250ms, 0);
  EXPECT_FALSE(
      lease.on_reply(reply_to(request, {1'000}, GrantBound::learning, 1, "new"), kTestStart + 251ms));
  EXPECT_EQ(lease.lease().at(kTestStart + 1999ms), BitRate{40'000});
  EXPECT_EQ(lease.lease().at(kTestStart + 2s), BitRate{1'000});
  EXPECT_EQ(lease.last_reply()->bound, GrantBound::learning);
}

TEST(BudgetLease, WithoutALimitWhenCutOffKeepsTheFloorWhileRedisLearns) {
  BudgetLease lease(kTerms, OnLoss::open, kTestStart);
  const LeaseRequest request = lease.ask({50'000}, kTestStart, 0);
  EXPECT_TRUE(lease.on_reply(reply_to(request, {1'000}, GrantBound::learning), kTestStart));
  EXPECT_EQ(lease.lease().at(kTestStart + 1s), BitRate{1'000});
  const LeaseRequest second = lease.ask({50'000}, kTestStart + 1s, 0);
  EXPECT_TRUE(lease.on_reply(reply_to(second, {1'000}, GrantBound::learning), kTestStart + 1s));
  EXPECT_EQ(lease.lease().at(kTestStart + 2s), BitRate{1'000});
}

TEST(BudgetLease, TakesNoGrantFromTheReplyToAnOldRequest) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {40'000});
  const LeaseRequest request = lease.ask({50'000}, kTestStart + 250ms, 0);
  EXPECT_FALSE(lease.on_reply(reply_to(request, {0}, GrantBound::old), kTestStart + 251ms));
  EXPECT_EQ(lease.lease().rate, BitRate{40'000});
  EXPECT_EQ(lease.last_reply()->bound, GrantBound::old);
}

TEST(BudgetLease, IsCutByAShorterLease) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  renew(lease, kTestStart, {40'000});
  const LeaseRequest asked = lease.ask({50'000}, kTestStart + 250ms, 0);
  BudgetTerms terms = kTerms;
  terms.lease = 500ms;
  terms.floor = {2'000};
  lease.set(terms, OnLoss::floor, kTestStart + 300ms);
  EXPECT_EQ(lease.lease().at(kTestStart + 799ms), BitRate{40'000});
  EXPECT_EQ(lease.lease().at(kTestStart + 800ms), BitRate{2'000});
  lease.on_reply(reply_to(asked, {40'000}), kTestStart + 400ms);
  EXPECT_EQ(lease.lease().until, kTestStart + 800ms);
}

TEST(BudgetLease, IsNotStretchedByALongerLease) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  const LeaseRequest asked = lease.ask({50'000}, kTestStart, 0);
  BudgetTerms terms = kTerms;
  terms.lease = 10s;
  lease.set(terms, OnLoss::floor, kTestStart + 1ms);
  lease.on_reply(reply_to(asked, {40'000}), kTestStart + 2ms);
  EXPECT_EQ(lease.lease().until, kTestStart + 2s);
}

TEST(BudgetLease, WantsNoMoreThanTheRate) {
  BudgetLease lease(kTerms, OnLoss::floor, kTestStart);
  EXPECT_EQ(lease.ask({100'001}, kTestStart, 0).want, BitRate{100'000});
}

}  // namespace
}  // namespace headgate
