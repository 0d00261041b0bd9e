#include "core/number_stack.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TEST(NumberStack, GivesTheLowestFirstAndThenWhatWasGivenBackLast) {
  NumberStack stack(3, std::pmr::get_default_resource());
  EXPECT_EQ(stack.take(), 0u);
  EXPECT_EQ(stack.take(), 1u);
  stack.give_back(0);
  EXPECT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack.next(), 0u);
  EXPECT_EQ(stack.next(1), 2u);
  EXPECT_EQ(stack.take(), 0u);
  EXPECT_EQ(stack.take(), 2u);
  EXPECT_EQ(stack.size(), 0u);
}

}  // namespace
}  // namespace headgate
