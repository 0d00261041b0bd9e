#include "control/nearest_name.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace headgate {
namespace {

const std::vector<std::string> kNames = {"show", "flows", "reload", "check", "version"};

TEST(NearestName, ForgivesALetterTooManyTooFewWrongOrSwapped) {
  EXPECT_EQ(nearest_name("shoow", kNames), "show");
  EXPECT_EQ(nearest_name("relod", kNames), "reload");
  EXPECT_EQ(nearest_name("chekc", kNames), "check");
  EXPECT_EQ(nearest_name("xersion", kNames), "version");
}

TEST(NearestName, FindsNothingForAnotherWord) {
  EXPECT_EQ(nearest_name("halt", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("show", {}), "");
}

TEST(NearestName, FindsNothingForAnEndlessWord) {
  const std::string endless(100'000, 'x');
  EXPECT_EQ(nearest_name(endless, std::vector<std::string>{endless}), "");
}

}  // namespace
}  // namespace headgate
