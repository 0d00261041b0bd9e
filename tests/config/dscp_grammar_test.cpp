#include "config/dscp_grammar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace headgate {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// The number of the one code point that `text` means.
int number_of(std::string_view text) {
  std::uint64_t code_points = 0;
  EXPECT_EQ(read_dscp(text, code_points).error, "") << text;
  EXPECT_EQ(std::popcount(code_points), 1) << text;
  return std::countr_zero(code_points);
}

std::string error_of(std::string_view text) {
  std::uint64_t code_points = 5;
  const std::string error = read_dscp(text, code_points).error;
  EXPECT_EQ(code_points, 5U) << text;
  return error;
}

TEST(Dscp, HasTheNumbersOfTheStandards) {
  for (int number = 0; number < 8; ++number)
    EXPECT_EQ(number_of("cs" + std::to_string(number)), 8 * number);  // RFC 2474
  for (int group = 1; group < 5; ++group) {
    for (int precedence = 1; precedence < 4; ++precedence) {
      EXPECT_EQ(number_of("af" + std::to_string(group) + std::to_string(precedence)),
                8 * group + 2 * precedence);  // RFC 2597
    }
  }
  EXPECT_EQ(number_of("ef"), 46);  // RFC 3246
  EXPECT_EQ(number_of("va"), 44);  // RFC 5865
  EXPECT_EQ(number_of("le"), 1);   // RFC 8622
  EXPECT_EQ(number_of("be"), 0);
  EXPECT_EQ(number_of("default"), 0);
}

TEST(Dscp, IsReadByNumberAndInCapitals) {
  for (int number = 0; number < 64; ++number) EXPECT_EQ(number_of(std::to_string(number)), number);
  EXPECT_EQ(number_of("EF"), 46);
  EXPECT_EQ(number_of("AF41"), 34);
}

TEST(Dscp, ThatIsNoneIsRefused) {
  EXPECT_EQ(error_of("af44"), "\"af44\" is not a DSCP: did you mean \"af41\"?");
  EXPECT_EQ(error_of("64"), "\"64\" is out of bounds, expected a DSCP from 0 to 63");
  EXPECT_THAT(error_of("99999999999999999999"), StartsWith("\"99999999999999999999\" is out of bounds"));
  for (const auto* text : {"", " ef", "voice", "-1", "0x2e", "46.5", "ef,cs5", "+1"})
    EXPECT_THAT(error_of(text), StartsWith("\"" + std::string(text) + "\" is not a DSCP")) << text;
}

TEST(Dscp, IsShownAsItIsReadLowestFirst) {
  std::uint64_t code_points = 0;
  for (const auto* text : {"ef", "46", "cs0", "3", "AF11"}) EXPECT_TRUE(read_dscp(text, code_points).ok());
  EXPECT_THAT(dscp_texts(code_points), ElementsAre("be", "3", "af11", "ef"));
  EXPECT_THAT(dscp_texts(0), testing::IsEmpty());
  std::uint64_t again = 0;
  for (const std::string& text : dscp_texts(~std::uint64_t{0})) EXPECT_TRUE(read_dscp(text, again).ok());
  EXPECT_EQ(again, ~std::uint64_t{0});
}

TEST(DscpGrammar, ReadsWhatBecomesOfWhatExceeds) {
  std::optional<std::uint8_t> dscp = 3;
  EXPECT_TRUE(read_exceed("drop", dscp).ok());
  EXPECT_EQ(dscp, std::nullopt);
  EXPECT_EQ(exceed_text(dscp), "drop");
  for (unsigned number = 0; number < 64; ++number) {
    EXPECT_TRUE(read_exceed("dscp:" + std::to_string(number), dscp).ok());
    EXPECT_EQ(dscp, number);
    std::optional<std::uint8_t> again;
    EXPECT_TRUE(read_exceed(exceed_text(dscp), again).ok());
    EXPECT_EQ(again, dscp);
  }
  EXPECT_TRUE(read_exceed("dscp:CS1", dscp).ok());
  EXPECT_EQ(exceed_text(dscp), "dscp:cs1");
  for (const char* text : {"", "cs1", "dscp:", "dscp:64", "dscp: cs1", "DROP", "dscp:cs1,cs2"})
    EXPECT_FALSE(read_exceed(text, dscp).ok()) << text;
  EXPECT_EQ(dscp, 8);
}

}  // namespace
}  // namespace headgate
