#include "top/delay_quantile.hpp"

#include <gtest/gtest.h>

namespace headgate::top {
namespace {

const std::vector<double> kBounds = {32, 64, 128};

TEST(DelayQuantile, IsNotKnownWithoutPackets) {
  EXPECT_EQ(delay_quantile({}, kBounds, 0.5, 50), std::nullopt);
  EXPECT_EQ(delay_quantile({0, 0, 0, 0}, kBounds, 0.5, 50), std::nullopt);
}

TEST(DelayQuantile, TakesWhatLiesBetweenTwoBoundsAsEven) {
  EXPECT_EQ(delay_quantile({0, 100, 0, 0}, kBounds, 0.5, 0), 48);
  EXPECT_EQ(delay_quantile({50, 0, 50, 0}, kBounds, 0.75, 0), 96);
  EXPECT_EQ(delay_quantile({100, 0, 0, 0}, kBounds, 0.25, 0), 8);
}

TEST(DelayQuantile, IsTheFinerMeasureWhereThatLiesWithinTheSameBounds) {
  EXPECT_EQ(delay_quantile({0, 100, 0, 0}, kBounds, 0.5, 50), 50);
  EXPECT_EQ(delay_quantile({0, 100, 0, 0}, kBounds, 0.5, 64), 48);
  EXPECT_EQ(delay_quantile({0, 100, 0, 0}, kBounds, 0.5, 31), 48);
}

TEST(DelayQuantile, IsTheLastBoundForWhatLiesAboveAll) {
  EXPECT_EQ(delay_quantile({0, 0, 0, 9}, kBounds, 0.99, 0), 128);
  EXPECT_EQ(delay_quantile({0, 0, 0, 9}, kBounds, 0.99, 4000), 4000);
}

}  // namespace
}  // namespace headgate::top
