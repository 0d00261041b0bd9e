#include "budget_places.hpp"

#include <gtest/gtest.h>

#include "config/config_file.hpp"

namespace headgate {
namespace {

Config config_of(const std::string& shapes) {
  std::string text;
  for (const char* name : {"a", "b", "c"})
    text += "[budget." + std::string(name) +
            "]\nrate = \"100mbit\"\nfloor = \"1mbit\"\nhosts = 8\nredis = \"unix:/run/redis/redis.sock\"\n";
  const ConfigResult result = parse_config(text + shapes, "test.toml");
  for (const ConfigError& error : result.errors) ADD_FAILURE() << error.to_string();
  return result.config;
}

TEST(BudgetPlaces, AreNoneWhereNothingGoesByABudget) {
  EXPECT_TRUE(budget_places(config_of(R"(
[[shape]]
interface = "eth0"
rate = "10mbit"
)"))
                  .empty());
}

TEST(BudgetPlaces, AreTheLinkAndTheCeilingOfAFairClass) {
  const auto places = budget_places(config_of(R"(
[[shape]]
interface = "eth0"
rate = "10mbit"
[[shape.class]]
name = "x"
match = "udp"
[[shape.class]]
name = "y"
fair = true
budget = "b"
[[shape]]
interface = "eth1"
direction = "ingress"
budget = "a"
)"));
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places.at("a").interface, "eth1");
  EXPECT_EQ(places.at("a").direction, Direction::ingress);
  EXPECT_EQ(places.at("a").rate, RatePlace{.kind = RatePlace::Kind::link});
  EXPECT_EQ(places.at("b").interface, "eth0");
  EXPECT_EQ(places.at("b").direction, Direction::egress);
  EXPECT_EQ(places.at("b").rate, (RatePlace{.kind = RatePlace::Kind::ceiling, .class_index = 1}));
}

TEST(BudgetPlaces, AreTheBucketOfAClass) {
  const auto places = budget_places(config_of(R"(
[[shape]]
interface = "eth0"
[[shape.class]]
name = "x"
match = "udp"
bypass = true
[[shape.class]]
name = "y"
budget = "c"
)"));
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places.at("c").rate, (RatePlace{.kind = RatePlace::Kind::bucket, .class_index = 1}));
}

TEST(BudgetPlaces, AreTheBucketOfAPlanWhoseMembersAreTogether) {
  const auto places = budget_places(config_of(R"(
[[shape]]
interface = "eth0"
[[shape.class]]
name = "customers"
key = "dst"
rate = "1mbit"
[[shape.class.plan]]
name = "basic"
rate = "5mbit"
members = "10.0.0.1"
[[shape.class.plan]]
name = "acme"
budget = "a"
together = true
members = ["10.0.0.5", "10.0.9.0/28"]
)"));
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places.at("a").rate, (RatePlace{.kind = RatePlace::Kind::plan, .class_index = 0, .plan = 1}));
}

// The tree numbers its groups parents first.
TEST(BudgetPlaces, NumberAGroupAsTheTreeDoes) {
  const auto places = budget_places(config_of(R"(
[[shape]]
interface = "eth0"
rate = "10mbit"
[[shape.group]]
name = "child"
parent = "parent"
budget = "a"
[[shape.group]]
name = "parent"
budget = "b"
[[shape.class]]
name = "x"
group = "child"
)"));
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places.at("a").rate, (RatePlace{.kind = RatePlace::Kind::group, .group = 1}));
  EXPECT_EQ(places.at("b").rate, (RatePlace{.kind = RatePlace::Kind::group, .group = 0}));
}

}  // namespace
}  // namespace headgate
