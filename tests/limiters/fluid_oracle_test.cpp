// Cases worked out by hand.
#include "support/fluid_oracle.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace headgate {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

void expect_rates(const std::vector<FluidNode>& nodes, const std::vector<double>& rates) {
  EXPECT_THAT(fluid_rates(nodes), Pointwise(DoubleNear(1e-9), rates));
}

FluidNode link(double rate = kNoCeiling) {
  return {.ceiling = rate};
}

TEST(FluidOracle, GivesAllWhatItAsksForOnALinkWithoutARate) {
  expect_rates({link(), {.demand = 10}, {.ceiling = 5, .demand = 70}, {.demand = 0}}, {15, 10, 5, 0});
}

TEST(FluidOracle, DividesALinkByMaxMin) {
  expect_rates({link(90), {.demand = 10}, {.demand = 50}, {.demand = 60}}, {90, 10, 40, 40});
}

TEST(FluidOracle, DividesByWeight) {
  expect_rates({link(90), {.weight = 1, .demand = 100}, {.weight = 2, .demand = 100}}, {90, 30, 60});
  // Above its 12 the first leaves 78, of which the others get 26 for each unit of weight.
  expect_rates(
      {link(90), {.weight = 3, .demand = 12}, {.weight = 1, .demand = 100}, {.weight = 2, .demand = 100}},
      {90, 12, 26, 52});
}

TEST(FluidOracle, ServesPrioritiesStrictly) {
  expect_rates({link(100),
                {.priority = 3, .demand = 50},
                {.priority = 0, .demand = 70},
                {.priority = 7, .demand = 50}},
               {100, 30, 70, 0});
}

TEST(FluidOracle, GivesGuaranteesBeforePriorities) {
  expect_rates({link(100), {.priority = 0, .demand = 100}, {.priority = 7, .guarantee = 30, .demand = 50}},
               {100, 70, 30});
}

TEST(FluidOracle, DividesWhatIsAboveTheGuarantees) {
  expect_rates({link(100), {.guarantee = 40, .demand = 100}, {.demand = 100}}, {100, 70, 30});
}

TEST(FluidOracle, GivesOnWhatAGuaranteeDoesNotUse) {
  expect_rates({link(100), {.guarantee = 40, .demand = 10}, {.demand = 100}}, {100, 10, 90});
}

TEST(FluidOracle, CountsGuaranteesAgainstTheCeilingsAboveThem) {
  // The group has 40 - 10 for its excess, 15 for each of its classes; the class beside it has the rest of the link.
  expect_rates({link(100),
                {.ceiling = 40},
                {.parent = 1, .guarantee = 10, .demand = 100},
                {.parent = 1, .demand = 100},
                {.demand = 100}},
               {100, 40, 25, 15, 60});
}

TEST(FluidOracle, LeavesNoExcessBelowACeilingThatGuaranteesFill) {
  expect_rates({link(100),
                {.ceiling = 40, .priority = 0},
                {.parent = 1, .guarantee = 25, .demand = 100},
                {.parent = 1, .guarantee = 15, .demand = 100},
                {.parent = 1, .demand = 100},
                {.demand = 100}},
               {100, 40, 25, 15, 0, 60});
}

TEST(FluidOracle, TakesAPriorityToStandWithinItsParent) {
  expect_rates(
      {link(100), {.priority = 5}, {.parent = 1, .priority = 0, .demand = 80}, {.priority = 4, .demand = 60}},
      {100, 40, 40, 60});
}

TEST(FluidOracle, GivesAGroupNoMoreThanItsClassesTake) {
  // The group's classes take 20 + 5; what is left is the other class's.
  expect_rates({link(100),
                {.weight = 10},
                {.parent = 1, .ceiling = 20, .demand = 90},
                {.parent = 1, .demand = 5},
                {.demand = 90}},
               {100, 25, 20, 5, 75});
}

TEST(FluidOracle, DividesFourLevels) {
  expect_rates({link(120),
                {.weight = 2},                              // 1: 80 of 120
                {.parent = 1, .ceiling = 30},               // 2: 30 of 80
                {.parent = 2, .weight = 1, .demand = 100},  // 3
                {.parent = 2, .weight = 2, .demand = 100},  // 4
                {.parent = 1, .demand = 45},                // 5: no more than it asks for
                {.demand = 1000}},                          // 6: 40, and 5 that nobody else takes
               {120, 75, 30, 10, 20, 45, 45});
}

TEST(FluidOracle, DividesAnOfficesLink) {
  expect_rates({link(100),
                {.priority = 0, .guarantee = 2, .demand = 1},
                {.weight = 2, .guarantee = 40, .demand = 100},
                {.ceiling = 20, .demand = 50},
                {.demand = 100}},
               {100, 1, 69.5, 14.75, 14.75});
}

}  // namespace
}  // namespace headgate
