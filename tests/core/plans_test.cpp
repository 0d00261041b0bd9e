// Plans: keys of one class that have rates of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "core/class_plans.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr PlanNumber kGold = 0;
constexpr PlanNumber kSilver = 1;

Member member(std::uint32_t flow, PlanNumber plan) {
  return {{.address = numbered_key(flow).destination, .length = 128}, plan};
}
// Of all numbered flows.
Member everybody(PlanNumber plan) {
  return {{.address = {}, .length = 96}, plan};
}

PlanConfig plan(std::string name, std::uint64_t rate, std::uint64_t queue = 100) {
  PlanConfig config;
  config.name = std::move(name);
  config.rate = packets_per_second(rate);
  config.queue.packets = queue;
  return config;
}

void set_members(ClassConfig& config, std::vector<Member> members) {
  config.members.members = std::make_shared<const std::vector<Member>>(std::move(members));
}

// 10 a second; gold 100, silver 50.
ClassConfig customers(std::vector<Member> members) {
  ClassConfig config = shaped_class("customers", packets_per_second(10));
  config.key.destination_address = true;
  config.plans = {plan("gold", 100), plan("silver", 50)};
  set_members(config, std::move(members));
  return config;
}

std::vector<Duration> gaps(ShaperHarness& shaper, std::uint32_t flow, std::size_t packets) {
  for (std::size_t i = 0; i < packets; ++i) shaper.arrive(flow);
  std::vector<Duration> between;
  Instant last{};
  for (const Departure& departure : shaper.run()) {
    if (departure.packet.flow != flow) continue;
    if (last != Instant{}) between.push_back(departure.ideal - last);
    last = departure.ideal;
  }
  return between;
}

void change(ShaperHarness& shaper, const Member& wanted) {
  Shaper::MemberUpdate update{.member = wanted};
  update.key = only_key_of(wanted.prefix, shaper.classes[0].key);
  if (update.key) update.hash = hash_key(*update.key, class_hash_seed(shaper.classes[0].name, 1));
  shaper.shaper.shaper.change_member(0, update, shaper.now);
}

PlanNumber plan_of(const ShaperHarness& shaper, std::uint32_t flow) {
  PlanNumber found = kNoPlan;
  shaper.shaper.visit_flows(0, 0, 1'000'000, [&](const FlowStatistics& one) {
    if (flow_number(one.key) == flow) found = one.plan;
  });
  return found;
}

TEST(Plans, EachKeyHasTheRateOfItsPlanAndABucketOfItsOwn) {
  ShaperHarness shaper({customers({member(1, kGold), member(2, kSilver), member(3, kGold)})});
  for (int i = 0; i < 3; ++i)
    for (const std::uint32_t flow : {1, 2, 3, 4}) shaper.arrive(flow);
  std::vector<std::vector<Duration>> times(5);
  for (const Departure& departure : shaper.run())
    times[departure.packet.flow].push_back(departure.released - kTestStart);
  EXPECT_THAT(times[1], ElementsAre(milliseconds(0), milliseconds(10), milliseconds(20)));
  EXPECT_THAT(times[2], ElementsAre(milliseconds(0), milliseconds(20), milliseconds(40)));
  EXPECT_THAT(times[3], ElementsAre(milliseconds(0), milliseconds(10), milliseconds(20)));
  EXPECT_THAT(times[4], ElementsAre(milliseconds(0), milliseconds(100), milliseconds(200)));
  EXPECT_THAT(shaper.class_statistics().members, ElementsAre(2, 1));
}

TEST(Plans, AQueueHoldsWhatThePlanSays) {
  ClassConfig config = customers({member(1, kGold)});
  config.plans[kGold].queue.packets = 2;
  ShaperHarness shaper({config});
  for (int i = 0; i < 10; ++i) {
    shaper.arrive(1);
    shaper.arrive(2);
  }
  // What leaves at once does not wait.
  EXPECT_EQ(dropped_for(shaper.class_statistics(), DropReason::queue_full).packets, 10u - 3u);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 10u + 3u);
}

TEST(Plans, AMemberChangedAtRunTimeHasItsNewRateFromTheNextPacketOn) {
  ShaperHarness shaper({customers({member(1, kSilver)})});
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(20), milliseconds(20)));
  change(shaper, member(1, kGold));
  EXPECT_EQ(plan_of(shaper, 1), kGold);
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(10), milliseconds(10)));
  change(shaper, member(1, kNoPlan));
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(100), milliseconds(100)));
  EXPECT_THAT(shaper.class_statistics().members, ElementsAre(0, 0));
}

TEST(Plans, WhatIsLeftOfAWaitGoesOnAtAHigherRate) {
  ShaperHarness shaper({customers({member(1, kSilver)})});
  shaper.arrive(1);
  shaper.run();
  change(shaper, member(1, kGold));
  shaper.arrive(1);
  shaper.arrive(1);
  std::vector<Duration> times;
  for (const Departure& departure : shaper.run()) times.push_back(departure.released - kTestStart);
  EXPECT_THAT(times, ElementsAre(milliseconds(10), milliseconds(20)));
}

// A customer that gets a better plan does not stand still, whatever the old one let go at once.
TEST(Plans, AMemberWhoseBurstIsUsedUpGoesOnByABetterPlan) {
  ClassConfig config = customers({member(1, kSilver)});
  config.plans[kSilver].burst.packets = 1000;
  config.plans[kSilver].queue.packets = 2000;
  ShaperHarness shaper({config});
  for (int i = 0; i < 1100; ++i) shaper.arrive(1);
  shaper.run(shaper.now + milliseconds(100));
  change(shaper, member(1, kGold));
  const Instant changed = shaper.now;
  const std::vector<Departure> departures = shaper.run(changed + milliseconds(200));
  ASSERT_GE(departures.size(), 19u);
  EXPECT_LE(departures.size(), 21u);
  EXPECT_LE(departures.front().ideal, changed + milliseconds(20));
}

TEST(Plans, ANewKeyFindsWhatRunTimeSaid) {
  ShaperHarness shaper({customers({})});
  change(shaper, member(1, kGold));
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(10), milliseconds(10)));
}

TEST(Plans, AWiderMemberReachesTheFlowsThatThereAre) {
  constexpr std::uint32_t kFlows = 1500;
  ShaperHarness shaper({customers({member(7, kGold)})});
  for (std::uint32_t flow = 0; flow < kFlows; ++flow)
    shaper.shaper.admit({{shaper.make(flow, 100, shaper.now)}}, shaper.now);
  shaper.run();
  change(shaper, everybody(kSilver));
  EXPECT_EQ(plan_of(shaper, 3), kNoPlan) << "not all at once";
  for (std::uint32_t i = 0; i < kFlows / 64 + 1; ++i)
    shaper.shaper.admit({{shaper.make(3, 100, shaper.now)}}, shaper.now);
  for (std::uint32_t flow = 0; flow < kFlows; ++flow)
    ASSERT_EQ(plan_of(shaper, flow), flow == 7 ? kGold : kSilver);
}

TEST(Plans, AtRestAWiderMemberReachesTheFlowsWhenTheyAreCounted) {
  ShaperHarness shaper({customers({})});
  shaper.arrive(1);
  shaper.run();
  change(shaper, everybody(kSilver));
  shaper.statistics();
  EXPECT_EQ(plan_of(shaper, 1), kSilver);
}

TEST(Plans, ALargerTableTakesThePlaceOfAFullOne) {
  ShaperHarness shaper({customers({})});
  std::vector<Member> members;
  const std::size_t room = member_room(0);
  for (std::uint32_t flow = 0; flow < room; ++flow) {
    members.push_back(member(flow, kGold));
    change(shaper, members.back());
  }
  Shaper::MemberUpdate update{.member = member(static_cast<std::uint32_t>(room), kSilver),
                              .table = std::make_unique<MemberTable>(members, 2, member_room(room + 1))};
  shaper.shaper.shaper.change_member(0, update, shaper.now);
  EXPECT_THAT(shaper.class_statistics().members, ElementsAre(room, 1));
  EXPECT_EQ(update.table->size(), room) << "the old one, to be freed";
}

TEST(Plans, AReloadChangesRatesMembersAndWhetherThereArePlans) {
  const auto nobody = [](ArrivingPacket&) { ADD_FAILURE() << "a packet was classified again"; };
  ShaperHarness shaper({customers({member(1, kGold)})});
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(10), milliseconds(10)));
  ClassConfig next = customers({member(1, kGold)});
  next.plans[kGold].rate = packets_per_second(200);
  shaper.shaper.reconfigure({next}, nobody, shaper.now);
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(5), milliseconds(5)));
  set_members(next, {member(1, kSilver)});
  shaper.shaper.reconfigure({next}, nobody, shaper.now);
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(20), milliseconds(20)));
  next.plans.clear();
  set_members(next, {});
  shaper.shaper.reconfigure({next}, nobody, shaper.now);
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(100), milliseconds(100)));
  EXPECT_EQ(plan_of(shaper, 1), kNoPlan);
  shaper.shaper.reconfigure({customers({member(1, kGold)})}, nobody, shaper.now);
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(10), milliseconds(10)));
}

// The members of the configuration hold from the reload on, also where it is that of the last one.
TEST(Plans, AReloadWithTheSameMembersPutsThemInForceAgain) {
  ShaperHarness shaper({customers({member(1, kSilver)})});
  change(shaper, member(1, kGold));
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(10), milliseconds(10)));
  shaper.shaper.reconfigure(
      {customers({member(1, kSilver)})}, [](ArrivingPacket&) {}, shaper.now);
  EXPECT_THAT(gaps(shaper, 1, 3), ElementsAre(milliseconds(20), milliseconds(20)));
  EXPECT_THAT(shaper.class_statistics().members, ElementsAre(0, 1));
}

TEST(Plans, InATreeAMemberHasItsBucketBelowTheCeiling) {
  ClassConfig config = customers({member(1, kGold), member(2, kSilver)});
  config.rate = {};
  config.place.ceiling = BitRate{1'000'000};
  ShaperHarness shaper({config});
  for (int i = 0; i < 3; ++i)
    for (const std::uint32_t flow : {1, 2, 3}) shaper.arrive(flow);
  std::vector<std::vector<Duration>> times(4);
  for (const Departure& departure : shaper.run())
    times[departure.packet.flow].push_back(departure.ideal - kTestStart);
  ASSERT_EQ(times[1].size(), 3u);
  EXPECT_GE(times[1][2], milliseconds(20));
  EXPECT_LE(times[1][2], milliseconds(22));
  EXPECT_GE(times[2][2], milliseconds(40));
  EXPECT_LE(times[2][2], milliseconds(42));
  EXPECT_LE(times[3][2], milliseconds(8)) << "no plan and no rate: only the ceiling holds it";
}

// A class with plans sends each flow as a class with nothing but that plan's rate would.
TEST(Plans, DeparturesAreThoseOfAClassForEachPlan) {
  constexpr std::uint32_t kFlows = 30;
  std::mt19937 random(9);
  const auto up_to = [&random](unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most)(random);
  };
  std::vector<Member> members;
  std::vector<PlanNumber> plans(kFlows, kNoPlan);
  for (std::uint32_t flow = 0; flow < kFlows; ++flow) {
    plans[flow] = flow % 3 == 2 ? kNoPlan : static_cast<PlanNumber>(flow % 3);
    if (plans[flow] != kNoPlan) members.push_back(member(flow, plans[flow]));
  }
  const ClassConfig config = customers(members);
  std::vector<ClassConfig> alone(3, config);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    alone[i].name += std::to_string(i);
    alone[i].plans.clear();
    alone[i].members = {};
    if (i < 2) alone[i].rate = config.plans[i].rate;
  }
  ShaperHarness together({config});
  ShaperHarness apart(alone);
  std::vector<std::vector<std::pair<Instant, std::uint32_t>>> left(kFlows);
  std::vector<std::vector<std::pair<Instant, std::uint32_t>>> expected(kFlows);
  for (int step = 0; step < 4000; ++step) {
    const std::uint32_t flow = up_to(kFlows - 1);
    together.arrive(flow);
    apart.arrive(flow, 100, static_cast<ClassIndex>(flow % 3));
    const Instant until = together.now + Duration(up_to(20'000'000));
    for (const Departure& one : together.run(until))
      left[one.packet.flow].push_back({one.ideal, one.packet.serial});
    for (const Departure& one : apart.run(until))
      expected[one.packet.flow].push_back({one.ideal, one.packet.serial});
  }
  EXPECT_EQ(left, expected);
}

}  // namespace
}  // namespace headgate
