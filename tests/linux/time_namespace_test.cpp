#include "linux/time_namespace.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TEST(MonotonicOffset, IsThatOfTheMonotonicClock) {
  EXPECT_EQ(monotonic_offset("monotonic      100000         7\nboottime            5         0\n"),
            std::chrono::seconds(100'000) + Duration(7));
  EXPECT_EQ(monotonic_offset("boottime            5         0\nmonotonic          -3 500000000\n"),
            -std::chrono::milliseconds(2500));
}

TEST(MonotonicOffset, IsZeroWhereTheKernelHasNoTimeNamespaces) {
  EXPECT_EQ(monotonic_offset(""), Duration::zero());
  EXPECT_EQ(monotonic_offset("nonsense"), Duration::zero());
}

}  // namespace
}  // namespace headgate
