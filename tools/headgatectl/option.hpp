// The options of headgatectl: the table that the command line is read by and that help is written from.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headgate {

struct Invocation;

enum class Takes {
  nothing,
  value,
  value_or_nothing,
  number_or_nothing,  // a word behind it that does not begin like a number is not its value
};

struct Option {
  std::string_view name;
  char letter;  // '\0': none; one letter may stand for the options of different commands
  Takes takes;
  std::string_view value;  // what it is called in usage
  bool general;            // goes with every command
  std::string_view help;
  void (*read)(const std::string& value, Invocation& invocation);  // throws UsageError
};

std::span<const Option> options();

const Option& option_named(std::string_view name);

}  // namespace headgate
