// headgatectl(1) against the table of commands: its synopsis, and the head of each command and option.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "commands.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

using Lines = std::vector<std::string>;

std::string in_font(char font, const std::string& text) {
  std::string result = std::string("\\f") + font;
  for (const char character : text) result += character == '-' ? "\\-" : std::string(1, character);
  return result + "\\fR";
}

std::string bold(std::string_view text) {
  return in_font('B', std::string(text));
}

std::string italic(std::string_view text) {
  return in_font('I', std::string(text));
}

std::string in_brackets(const std::string& text) {
  return "[" + text + "]";
}

std::string operands_of(const Command& command) {
  std::string text, end;
  for (const Operand& operand : command.operands) {
    const std::string word = italic(operand.name) + (may_repeat(operand) ? "..." : "");
    text += operand.alternative.empty() ? " " : " {";
    text += may_lack(operand) ? in_brackets(word) : word;
    if (!operand.alternative.empty()) end = " | " + bold(operand.alternative) + "}";
  }
  return text + end;
}

std::string short_option(const Option& option) {
  std::string text =
      bold(option.letter != '\0' ? std::string("-") + option.letter : "--" + std::string(option.name));
  if (!option.value.empty())
    text += " " + (option.value_left_out.empty() ? italic(option.value) : in_brackets(italic(option.value)));
  return option.required ? text : in_brackets(text);
}

std::string synopsis_of(const Command& command) {
  const std::string name = bold(command.name);
  std::string text = bold("headgatectl") + " [" + italic("OPTIONS") + "] " +
                     (&command == &commands().front() ? in_brackets(name) : name) + operands_of(command);
  for (const Option& option : command.options) text += " " + short_option(option);
  return text;
}

std::string head_of(const Option& option) {
  std::string text = option.letter != '\0' ? bold(std::string("-") + option.letter) + ", " : "";
  text += bold("--" + std::string(option.name));
  if (option.value.empty()) return text;
  return text +
         (option.value_left_out.empty() ? " " + italic(option.value) : "[=" + italic(option.value) + "]");
}

// The lines of a section that begin an entry, or all of them but line breaks.
Lines section(const std::string& title, bool heads) {
  std::ifstream page(HEADGATE_MANUAL_PAGE);
  Lines lines;
  bool inside = false, head = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(".SH "))
      inside = line == ".SH " + title;
    else if (inside && line != ".TP" && line != ".TQ" && line != ".br" && (head || !heads))
      lines.push_back(line);
    head = line == ".TP" || line == ".TQ";
  }
  return lines;
}

TEST(ManualPage, HasTheSynopsisOfEachCommand) {
  Lines expected;
  for (const Command& command : commands()) expected.push_back(synopsis_of(command));
  EXPECT_THAT(section("SYNOPSIS", false), testing::ElementsAreArray(expected));
}

TEST(ManualPage, DescribesEachCommandWithItsOwnOptions) {
  Lines expected;
  for (const Command& command : commands()) {
    expected.push_back(bold(command.name) + operands_of(command));
    for (const Option& option : command.options) expected.push_back(head_of(option));
  }
  EXPECT_THAT(section("COMMANDS", true), testing::ElementsAreArray(expected));
}

TEST(ManualPage, DescribesTheOptionsOfAllCommands) {
  Lines expected;
  for (const Option& option : general_options()) expected.push_back(head_of(option));
  EXPECT_THAT(section("OPTIONS", true), testing::ElementsAreArray(expected));
}

}  // namespace
}  // namespace headgate
