#include "top/sparkline.hpp"

#include <gtest/gtest.h>

namespace headgate::top {
namespace {

TEST(Sparkline, IsAsHighAsTheValues) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, false), "_.:-=+*#");
}

TEST(Sparkline, ShowsTheLatestOnTheRight) {
  EXPECT_EQ(sparkline({7, 7, 0, 7}, 2, true), "▁█");
  EXPECT_EQ(sparkline({7, 0}, 5, true), "   █▁");
  EXPECT_EQ(sparkline({}, 3, true), "   ");
  EXPECT_EQ(sparkline({1, 2}, 0, true), "");
}

TEST(Sparkline, IsBlankWhereNothingIsKnown) {
  EXPECT_EQ(sparkline({7, std::nullopt, 7}, 3, true), "█ █");
}

TEST(Sparkline, IsALineAtTheBottomForZeros) {
  EXPECT_EQ(sparkline({0, 0, 0}, 3, true), "▁▁▁");
}

TEST(Sparkline, KeepsWhatIsSmallAboveZero) {
  EXPECT_EQ(sparkline({1e-9, 1e9}, 2, true), "▂█");
}

TEST(Sparkline, IsScaledByWhatItShowsAlone) {
  EXPECT_EQ(sparkline({1e9, 1, 2}, 2, true), "▅█");
}

}  // namespace
}  // namespace headgate::top
