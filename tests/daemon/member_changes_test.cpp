#include "member_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace headgate {
namespace {

using testing::ElementsAre;
using Outcome = MemberChanges::Outcome;

constexpr PlanNumber kGold = 0;
constexpr PlanNumber kSilver = 1;

Prefix host(std::uint8_t last) {
  Prefix prefix;
  prefix.address[15] = last;
  return prefix;
}

MemberList list(std::vector<Member> members) {
  return {std::make_shared<const std::vector<Member>>(std::move(members))};
}

std::vector<PlanConfig> plans(std::vector<std::string> names) {
  std::vector<PlanConfig> plans;
  for (std::string& name : names) plans.emplace_back().name = std::move(name);
  return plans;
}

class MemberChangesTest : public testing::Test {
 protected:
  MemberChangesTest() {
    shapes.emplace_back().interface = "eth0";
    customers().name = "customers";
    customers().key.destination_address = true;
    customers().plans = plans({"gold", "silver"});
    customers().members = list({{host(1), kGold}, {host(3), kSilver}});
  }

  ClassConfig& customers() {
    if (shapes[0].classes.empty()) shapes[0].classes.emplace_back();
    return shapes[0].classes[0];
  }
  MemberChanges::Result change(std::uint8_t last, PlanNumber plan) {
    return changes.change(shapes[0], customers(), {host(last), plan});
  }
  std::vector<Member> now() { return changes.members_of(shapes[0], customers()); }
  std::vector<Member> in_force() { return *customers().members.members; }

  // The file as it is now, but with these members and plans.
  void reload(std::vector<Member> members, std::vector<std::string> names = {"gold", "silver"}) {
    customers().plans = plans(std::move(names));
    customers().members = list(std::move(members));
    changes = changes.put_into(shapes, messages);
  }

  std::vector<ShapeConfig> shapes;
  MemberChanges changes;
  std::vector<std::string> messages;
};

TEST_F(MemberChangesTest, StandOnTopOfTheFile) {
  EXPECT_THAT(now(), ElementsAre(Member{host(1), kGold}, Member{host(3), kSilver}));
  const auto added = change(2, kGold);
  EXPECT_EQ(added.outcome, Outcome::changed);
  EXPECT_EQ(added.before, kNoPlan);
  EXPECT_EQ(added.members, 3u);
  EXPECT_EQ(change(1, kSilver).before, kGold);
  EXPECT_EQ(change(3, kNoPlan).members, 2u);
  EXPECT_EQ(change(9, kGold).members, 3u);
  EXPECT_THAT(now(), ElementsAre(Member{host(1), kSilver}, Member{host(2), kGold}, Member{host(9), kGold}));
}

TEST_F(MemberChangesTest, WhatIsSaidAgainChangesNothing) {
  EXPECT_EQ(change(1, kGold).outcome, Outcome::unchanged);
  EXPECT_EQ(change(2, kNoPlan).outcome, Outcome::unchanged);
  change(1, kSilver);
  EXPECT_EQ(change(1, kSilver).outcome, Outcome::unchanged);
  EXPECT_EQ(change(1, kGold).before, kSilver);
  EXPECT_THAT(now(), ElementsAre(Member{host(1), kGold}, Member{host(3), kSilver}));
}

TEST_F(MemberChangesTest, SurviveAReloadWhileTheFileSaysTheSameOfTheMember) {
  change(1, kSilver);
  change(2, kGold);
  change(3, kNoPlan);
  reload({{host(1), kGold}, {host(3), kSilver}, {host(4), kGold}});
  EXPECT_THAT(in_force(),
              ElementsAre(Member{host(1), kSilver}, Member{host(2), kGold}, Member{host(4), kGold}));
  EXPECT_EQ(now(), in_force());
  EXPECT_EQ(change(1, kSilver).outcome, Outcome::unchanged);
}

TEST_F(MemberChangesTest, GiveWayToWhatTheFileSaysAnew) {
  change(1, kSilver);
  change(2, kGold);
  reload({{host(1), kGold}, {host(2), kSilver}, {host(3), kSilver}});
  EXPECT_THAT(in_force(),
              ElementsAre(Member{host(1), kSilver}, Member{host(2), kSilver}, Member{host(3), kSilver}));
  reload({{host(3), kSilver}});
  EXPECT_THAT(in_force(), ElementsAre(Member{host(3), kSilver}));
}

TEST_F(MemberChangesTest, KnowPlansByName) {
  change(1, kSilver);
  reload({{host(1), 2}, {host(3), 1}}, {"bronze", "silver", "gold"});
  EXPECT_THAT(in_force(), ElementsAre(Member{host(1), 1}, Member{host(3), 1}));
  reload({{host(1), 0}}, {"gold"});
  EXPECT_THAT(in_force(), ElementsAre(Member{host(1), 0})) << "the plan is gone";
}

TEST_F(MemberChangesTest, SayWhatAnInstanceOfTheLastReloadMisses) {
  EXPECT_TRUE(changes.since_in_force(shapes[0], customers()).empty());
  change(1, kSilver);
  reload({{host(1), kGold}, {host(3), kSilver}});
  EXPECT_TRUE(changes.since_in_force(shapes[0], customers()).empty());
  change(2, kGold);
  change(1, kGold);  // as the file says, and not as it is in force
  EXPECT_THAT(changes.since_in_force(shapes[0], customers()),
              ElementsAre(Member{host(2), kGold}, Member{host(1), kGold}));
}

TEST_F(MemberChangesTest, AClassHasNoMoreMembersThanItMay) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < kMaxMembers; ++i) {
    Prefix prefix;
    prefix.address = {static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                      static_cast<std::uint8_t>(i)};
    members.push_back({prefix, kGold});
  }
  customers().members = list(std::move(members));
  Prefix one_more;
  one_more.address[0] = 0xff;
  EXPECT_EQ(changes.change(shapes[0], customers(), {one_more, kGold}).outcome, Outcome::too_many);
  EXPECT_EQ(changes.change(shapes[0], customers(), {Prefix{}, kNoPlan}).outcome, Outcome::changed);
  EXPECT_EQ(changes.change(shapes[0], customers(), {one_more, kGold}).outcome, Outcome::changed);
}

TEST_F(MemberChangesTest, AClassThatLosesItsPlansLosesThem) {
  change(2, kGold);
  customers().plans.clear();
  customers().members = {};
  changes = changes.put_into(shapes, messages);
  EXPECT_THAT(messages, ElementsAre(testing::HasSubstr("eth0, class customers: changes of 1 members")));
  EXPECT_FALSE(customers().members.members);
}

TEST_F(MemberChangesTest, GiveUpWhatANewKeyCannotHave) {
  change(2, kGold);
  customers().key.destination_prefix_v6 = 64;
  customers().members = {};
  changes = changes.put_into(shapes, messages);
  EXPECT_TRUE(now().empty());
  EXPECT_THAT(messages, testing::SizeIs(1));
}

TEST_F(MemberChangesTest, AReloadWithWhichThereWereTooManyMembersIsRefused) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < kMaxMembers; ++i) {
    Prefix prefix;
    prefix.address = {1, static_cast<std::uint8_t>(i >> 16), static_cast<std::uint8_t>(i >> 8),
                      static_cast<std::uint8_t>(i)};
    members.push_back({prefix, kGold});
  }
  change(2, kGold);
  EXPECT_THROW(reload(std::move(members)), std::runtime_error);
}

}  // namespace
}  // namespace headgate
