#include "pipeline/part_of_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace headgate {
namespace {

constexpr int kFlows = 200'000;

TEST(PartOfFlow, IsTheOnlyOneThereIs) {
  for (const std::uint32_t hash : {0U, 1U, 0x8000'0000U, 0xffff'ffffU}) EXPECT_EQ(part_of_flow(hash, 1), 0u);
}

TEST(PartOfFlow, SpreadsFlowsEvenly) {
  for (const std::size_t parts : {2U, 3U, 16U, 64U}) {
    std::mt19937 random(1);
    std::vector<int> flows(parts);
    for (int i = 0; i < kFlows; ++i) ++flows.at(part_of_flow(static_cast<std::uint32_t>(random()), parts));
    const double share = static_cast<double>(kFlows) / static_cast<double>(parts);
    const auto [least, most] = std::minmax_element(flows.begin(), flows.end());
    EXPECT_GT(*least, 0.9 * share) << parts;
    EXPECT_LT(*most, 1.1 * share) << parts;
  }
}

// The flow table places a flow by the top of its hash and tags it by the bottom.
TEST(PartOfFlow, LeavesTheFlowsOfOneSpreadOverItsTable) {
  constexpr std::size_t kParts = 16;
  std::mt19937 random(1);
  std::vector<int> by_top(kParts), by_bottom(kParts);
  int chosen = 0;
  for (int i = 0; i < kFlows; ++i) {
    const auto hash = static_cast<std::uint32_t>(random());
    if (part_of_flow(hash, 16) != 5) continue;
    ++chosen;
    ++by_top[hash >> 28];
    ++by_bottom[hash & (kParts - 1)];
  }
  for (const auto* parts : {&by_top, &by_bottom}) {
    const auto [least, most] = std::minmax_element(parts->begin(), parts->end());
    EXPECT_GT(*least, 0.8 * chosen / kParts);
    EXPECT_LT(*most, 1.2 * chosen / kParts);
  }
}

}  // namespace
}  // namespace headgate
