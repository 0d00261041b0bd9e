#include "config/mark_grammar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<MarkSelector> read(std::initializer_list<const char*> texts) {
  std::vector<MarkSelector> marks;
  for (const char* const text : texts) EXPECT_EQ(read_mark(text, marks).error, "") << text;
  return marks;
}

std::string error_of(const std::string& text) {
  std::vector<MarkSelector> marks{{.value = 1}};
  const std::string error = read_mark(text, marks).error;
  EXPECT_THAT(marks, ElementsAre(MarkSelector{.value = 1})) << text;
  return error;
}

TEST(Mark, IsAValueAloneOrWithAMask) {
  EXPECT_THAT(read({"0x20", "16/255", "0X1f/0xFF", "0", "4294967295"}),
              ElementsAre(MarkSelector{.value = 0x20}, MarkSelector{.value = 16, .mask = 255},
                          MarkSelector{.value = 0x1f, .mask = 0xff}, MarkSelector{},
                          MarkSelector{.value = 0xffff'ffff}));
}

TEST(Mark, TakesWhatHasItsBitsBehindTheMask) {
  const MarkSelector mark{.value = 0x8000'0010, .mask = 0xf000'00ff};
  EXPECT_TRUE(mark.takes(0x8000'0010));
  EXPECT_TRUE(mark.takes(0x8fff'ff10));
  EXPECT_FALSE(mark.takes(0x8000'0011));
  EXPECT_FALSE(mark.takes(0x10));
  EXPECT_TRUE(MarkSelector{}.takes(0));
  EXPECT_FALSE(MarkSelector{}.takes(1));
}

TEST(Mark, StandsInAListOnce) {
  EXPECT_THAT(read({"0x10", "16", "0x10/0xffffffff"}), ElementsAre(MarkSelector{.value = 0x10}));
}

TEST(Mark, ThatIsNoneIsRefused) {
  for (const auto* text : {"", " 1", "voice", "-1", "+1", "0x", "1/", "/1", "1/2/3", "0x10 ", "1.5", "0xg"})
    EXPECT_THAT(error_of(text), HasSubstr(" is not a mark, expected a value such as \"0x10\"")) << text;
  for (const auto* text : {"4294967296", "0x100000000", "1/0x1ffffffff"})
    EXPECT_THAT(error_of(text), HasSubstr(" is out of bounds, expected at most 0xffffffff")) << text;
  EXPECT_THAT(error_of("010"), HasSubstr("has a number that begins with 0"));
  EXPECT_THAT(error_of("0/0"), HasSubstr("has no bit in its mask"));
  EXPECT_EQ(error_of("0x110/0xff"),
            "\"0x110/0xff\" has bits set beyond its mask: did you mean \"0x10/0xff\"?");
}

TEST(Mark, IsShownAsItIsRead) {
  const auto marks = read({"16", "0x10/255", "4294967295/0xffffffff"});
  EXPECT_THAT(mark_texts(marks), ElementsAre("0x10", "0x10/0xff", "0xffffffff"));
  std::vector<MarkSelector> again;
  for (const std::string& text : mark_texts(marks)) EXPECT_TRUE(read_mark(text, again).ok());
  EXPECT_EQ(again, marks);
}

}  // namespace
}  // namespace headgate
