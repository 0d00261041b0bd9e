#include "visible_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "utf8.hpp"

namespace headgate {
namespace {

using std::string_literals::operator""s;

TEST(VisibleText, LeavesWhatCanBeSeenAsItIs) {
  for (const char* text : {"", "eth0 → 10.0.0.1", "Büro\\n", "日本", "😀", "עברית"}) {
    EXPECT_EQ(visible(text), text);
    EXPECT_EQ(visible_lines(text), text);
    EXPECT_EQ(visible_json(text), text);
  }
}

TEST(VisibleText, EscapesControlCharacters) {
  EXPECT_EQ(visible("\033[2J\007\177"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(visible("a\0b\r"s), "a\\x00b\\x0d");
  EXPECT_EQ(visible("one\ttwo\nthree"), "one\\ttwo\\nthree");
  EXPECT_EQ(visible("\u0080\u009b31m\u009f\u00a0"), "\\u0080\\u009b31m\\u009f\u00a0");
}

TEST(VisibleText, EscapesWhatTurnsTheOrderOfLettersAround) {
  EXPECT_EQ(visible("\u061c\u200e\u200f"), "\\u061c\\u200e\\u200f");
  EXPECT_EQ(visible("\u202a\u202b\u202c\u202d\u202e"), "\\u202a\\u202b\\u202c\\u202d\\u202e");
  EXPECT_EQ(visible("\u2066\u2067\u2068\u2069"), "\\u2066\\u2067\\u2068\\u2069");
  EXPECT_EQ(visible("\u2028\u2029"), "\\u2028\\u2029");
  EXPECT_EQ(visible("\u061b\u200d\u2010\u2027\u202f\u2065\u206a"),
            "\u061b\u200d\u2010\u2027\u202f\u2065\u206a")
      << "their neighbours stay";
}

TEST(VisibleText, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(visible("\x9b"
                    "31m"),
            "\\x9b31m")
      << "a terminal of eight bits takes it for the beginning of a command";
  EXPECT_EQ(visible("\xc3"), "\\xc3");
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(visible("\xc0\x9b"), "\\xc0\\x9b") << "not the shortest form";
}

TEST(VisibleText, KeepsTheEndsOfLinesWhereThereMayBeSeveral) {
  EXPECT_EQ(visible_lines("one\n\033two\n"), "one\n\\x1btwo\n");
}

TEST(VisibleText, WritesEscapesOfJsonInJson) {
  EXPECT_EQ(visible_json("{\n  \"name\": \"a\177\u202e\u0085\"\n}"),
            "{\n  \"name\": \"a\\u007f\\u202e\\u0085\"\n}");
}

TEST(Utf8, GivesTheCodePointOfACharacter) {
  EXPECT_EQ(utf8_code_point("a"), U'a');
  EXPECT_EQ(utf8_code_point("é"), U'é');
  EXPECT_EQ(utf8_code_point("→"), U'→');
  EXPECT_EQ(utf8_code_point("😀"), U'😀');
}

}  // namespace
}  // namespace headgate
