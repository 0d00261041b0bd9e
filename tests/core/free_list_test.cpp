#include "core/free_list.hpp"

#include <gtest/gtest.h>

#include "support/heap_memory.hpp"

namespace headgate {
namespace {

TEST(FreeList, GivesTheLowestFirstAndWhatWasGivenBackLastBeforeThose) {
  HeapMemory memory;
  FreeList list(3, memory);
  ASSERT_TRUE(list.make_ready(3));
  EXPECT_EQ(list.take(), 0u);
  EXPECT_EQ(list.take(), 1u);
  list.give_back(0);
  EXPECT_EQ(list.ready(), 2u);
  EXPECT_EQ(list.in_use(), 1u);
  EXPECT_EQ(list.next(), 0u);
  EXPECT_EQ(list.next(1), 2u);
  EXPECT_EQ(list.take(), 0u);
  EXPECT_EQ(list.take(), 2u);
  EXPECT_EQ(list.ready(), 0u);
}

TEST(FreeList, GivesWhatIsMadeReadyLaterAfterWhatWasReadyBefore) {
  HeapMemory memory;
  FreeList list(10, memory);
  ASSERT_TRUE(list.make_ready(3));
  EXPECT_EQ(list.take(), 0u);
  EXPECT_EQ(list.take(), 1u);
  list.give_back(0);
  ASSERT_TRUE(list.make_ready(6));
  EXPECT_EQ(list.ready(), 5u);
  EXPECT_EQ(list.in_use(), 1u);
  for (const std::uint32_t expected : {0, 2, 3, 4, 5}) {
    EXPECT_EQ(list.next(), expected);
    EXPECT_EQ(list.take(), expected);
  }
}

TEST(FreeList, GivesOnlyNumbersThatAreReady) {
  HeapMemory memory;
  FreeList list(100'000, memory);
  EXPECT_EQ(list.ready(), 0u);
  ASSERT_TRUE(list.make_ready(10));
  EXPECT_EQ(list.ready(), 10u);
  EXPECT_FALSE(list.make_ready(100'001));
  EXPECT_EQ(list.ready(), 10u);
}

}  // namespace
}  // namespace headgate
