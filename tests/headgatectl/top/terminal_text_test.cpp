#include "top/terminal_text.hpp"

#include <gtest/gtest.h>

#include <clocale>

namespace headgate::top {
namespace {

struct TerminalText : testing::Test {
  TerminalText() { std::setlocale(LC_CTYPE, "C.UTF-8"); }
  ~TerminalText() override { std::setlocale(LC_CTYPE, "C"); }
};

TEST_F(TerminalText, CountsColumnsAndNotBytes) {
  EXPECT_EQ(columns_of("eth0"), 4);
  EXPECT_EQ(columns_of("→ 10.0.0.1"), 10);
  EXPECT_EQ(columns_of("漢字"), 4);
  EXPECT_EQ(columns_of("e\u0301"), 1);
}

TEST_F(TerminalText, IsCutWithinItsColumns) {
  EXPECT_EQ(cut_to("clients", 7, "…"), "clients");
  EXPECT_EQ(cut_to("clients", 6, "…"), "clien…");
  EXPECT_EQ(cut_to("漢字漢字", 6, "…"), "漢字…");
  EXPECT_EQ(cut_to("漢字漢字", 1, "…"), "…");
  EXPECT_EQ(cut_to("clients", 0, "…"), "");
}

TEST_F(TerminalText, IsPaddedToItsColumns) {
  EXPECT_EQ(padded("12", 5, "…", true), "   12");
  EXPECT_EQ(padded("漢字漢字", 6, "…"), "漢字… ");
}

TEST_F(TerminalText, TakesAColumnAByteWhereTheLocaleKnowsNoCharacter) {
  EXPECT_EQ(columns_of("\xff\xfe"), 2);
  EXPECT_EQ(columns_of(std::string_view("a\0b", 3)), 3);
}

}  // namespace
}  // namespace headgate::top
