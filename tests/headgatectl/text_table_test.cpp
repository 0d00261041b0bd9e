#include "text_table.hpp"

#include <gtest/gtest.h>

namespace headgate {
namespace {

TextTable table() {
  TextTable result({{"NAME", false}, {"COUNT"}, {"LAST", false}});
  result.add_row({{"a"}, {"1"}, {"x"}});
  result.add_row({{"→ longer"}, {"23456", Tone::attention}, {"y"}});
  result.add_note({"a note", Tone::attention});
  return result;
}

TEST(TextTable, AlignsNamesLeftAndNumbersRight) {
  EXPECT_EQ(table().text({}),
            "  NAME      COUNT  LAST\n"
            "  a             1  x\n"
            "  → longer  23456  y\n"
            "    a note\n");
}

TEST(TextTable, ColoursWithoutMovingColumns) {
  EXPECT_EQ(table().text({true, true}),
            "  \033[1mNAME\033[0m      \033[1mCOUNT\033[0m  \033[1mLAST\033[0m\n"
            "  a             1  x\n"
            "  → longer  \033[33m23456\033[0m  y\n"
            "    \033[33ma note\033[0m\n");
}

TEST(TextTable, WritesArrowsInAsciiWhereTheLocaleIsNotUtf8) {
  EXPECT_EQ(table().text({false, false}),
            "  NAME       COUNT  LAST\n"
            "  a              1  x\n"
            "  -> longer  23456  y\n"
            "    a note\n");
  EXPECT_EQ(styled("é", Tone::plain, {false, false}), "??");
}

TEST(TextTable, LetsNoControlCharacterThrough) {
  EXPECT_EQ(styled("eth0\033[2J\n\u202e", Tone::plain, {}), "eth0\\x1b[2J\\n\\u202e");
}

TEST(TextTable, MakesRoomForWhatIsEscaped) {
  TextTable escaped({{"NAME", false}, {"COUNT"}});
  escaped.add_row({{"a\u202eb"}, {"1"}});
  EXPECT_EQ(escaped.text({}),
            "  NAME      COUNT\n"
            "  a\\u202eb      1\n");
}

}  // namespace
}  // namespace headgate
