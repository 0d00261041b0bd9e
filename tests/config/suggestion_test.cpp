#include "config/suggestion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace headgate {
namespace {

constexpr auto kWords = std::to_array<std::string_view>({"egress", "ingress", "rate", "burst", "src-dst"});

TEST(Suggestion, FindsAWordWithASlip) {
  EXPECT_EQ(nearest_word("egres", kWords), "egress");
  EXPECT_EQ(nearest_word("ratte", kWords), "rate");
  EXPECT_EQ(nearest_word("brust", kWords), "burst") << "swapped neighbours are one slip";
  EXPECT_EQ(nearest_word("src_dst", kWords), "src-dst");
}

TEST(Suggestion, DoesNotMindCapitals) {
  EXPECT_EQ(nearest_word("RATE", kWords), "rate");
}

TEST(Suggestion, PrefersTheNearest) {
  EXPECT_EQ(nearest_word("inegress", kWords), "ingress")
      << "one slip; egress, which comes first, is two away";
}

TEST(Suggestion, TakesTheFirstOfSeveralThatAreEquallyNear) {
  EXPECT_EQ(nearest_word("engress", kWords), "egress");
}

TEST(Suggestion, FindsNothingFarOff) {
  EXPECT_EQ(nearest_word("colour", kWords), std::nullopt);
  EXPECT_EQ(nearest_word("", kWords), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(100'000, 'r'), kWords), std::nullopt);
}

TEST(Suggestion, ListsAllWordsWhenNoneIsNear) {
  EXPECT_EQ(suggest("colour", kWords), R"(expected "egress", "ingress", "rate", "burst" or "src-dst")");
  EXPECT_EQ(suggest("rat", kWords), R"(did you mean "rate"?)");
}

TEST(Suggestion, NamesNotMoreThanOneCanRead) {
  std::vector<std::string> names;
  for (int i = 0; i < 4096; ++i) names.push_back("group-" + std::to_string(i));
  const std::vector<std::string_view> words(names.begin(), names.end());
  const std::string list = list_of_words(words);
  EXPECT_LT(list.size(), 1000U);
  EXPECT_TRUE(list.ends_with("\"group-38\" or one of 4057 others")) << list;
}

}  // namespace
}  // namespace headgate
