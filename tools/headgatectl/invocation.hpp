// The command line of headgatectl, read by the table of its commands.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct Invocation {
  const Command* command = nullptr;  // null: help or version is wanted, of no command
  bool help = false;
  bool version = false;  // of headgatectl alone
  bool json = false;
  std::string control = kDefaultControlPath;
  std::vector<std::string> words;                        // the operands, in order
  std::map<std::string, std::any, std::less<>> options;  // the command's own that are given, by name

  // The word of an operand of the command's row, "" where it is left out.
  std::string operand(std::string_view name) const;

  // The words of the last operand, which may occur several times.
  std::vector<std::string> operands(std::string_view name) const;

  bool has(std::string_view option) const { return options.contains(option); }

  // T is what the option's reader gives; std::string where it has none.
  template <typename T = std::string>
  std::optional<T> value(std::string_view option) const {
    const auto given = options.find(option);
    if (given == options.end()) return std::nullopt;
    return std::any_cast<T>(given->second);
  }

  // Of an option that may be given several times: its texts, in order.
  std::vector<std::string> values(std::string_view option) const {
    return value<std::vector<std::string>>(option).value_or(std::vector<std::string>());
  }
};

// A sentence for the user. Exit code 1.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `arguments` without the program's name. No command means the first of the table. Throws UsageError.
Invocation parse_invocation(const std::vector<std::string>& arguments, const std::vector<Command>& commands);

}  // namespace headgate
