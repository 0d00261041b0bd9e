#include "limiters/flow_names.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace headgate {
namespace {

TEST(FlowNames, TellsNamesOfDifferentClassesApart) {
  FlowNames names(3, 0);
  const std::uint32_t one = names.add({0, 5});
  const std::uint32_t other = names.add({1, 5});
  EXPECT_NE(one, other);
  EXPECT_EQ(names.find({0, 5}), one);
  EXPECT_EQ(names.find({1, 5}), other);
  EXPECT_EQ(names.find({2, 5}), FlowNames::kNone);
  EXPECT_EQ(names.class_of(other), 1U);
  EXPECT_FALSE(names.full());
}

TEST(FlowNames, HasNoRoomWithoutPlaces) {
  const FlowNames names(0, 0);
  EXPECT_TRUE(names.full());
  EXPECT_EQ(names.find({0, 0}), FlowNames::kNone);
}

TEST(FlowNames, DoesWhatAMapDoes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto places = static_cast<std::uint32_t>(1 + random() % 70);
    const unsigned shift = random() % 64;  // names that differ in some bits only
    FlowNames names(places, seed % 2 == 0 ? 0 : random());
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> map;
    for (int step = 0; step < 5000; ++step) {
      const Scheduler::Flow name{static_cast<std::uint32_t>(random() % 3), random() % 40 << shift};
      const auto found = map.find({name.of_class, name.name});
      const std::uint32_t flow = names.find(name);
      ASSERT_EQ(flow, found == map.end() ? FlowNames::kNone : found->second);
      if (found == map.end() && !names.full()) {
        map.insert({{name.of_class, name.name}, names.add(name)});
      } else if (found != map.end() && random() % 2 == 0) {
        names.remove(flow);
        map.erase(found);
      }
      ASSERT_EQ(names.flows(), map.size());
      ASSERT_EQ(names.full(), map.size() == places);
    }
    std::set<std::uint32_t> numbers;
    for (const auto& [name, flow] : map) EXPECT_TRUE(flow < places && numbers.insert(flow).second);
  }
}

}  // namespace
}  // namespace headgate
