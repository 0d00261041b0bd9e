// The arguments of headgatectl split into a command, words and options, before anything is made of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace headgate {

struct GivenOption {
  const Option* option;
  std::string value;  // "": none
};

// In the order in which they were typed.
struct CommandLine {
  const Command* command = nullptr;  // null: none is named
  std::vector<std::string> words;    // without the command
  std::vector<GivenOption> options;

  bool has(std::string_view option) const;
};

// The command is the first word that is no general option nor its value. What stands behind it is read by its row. Where
// none is named, the line is read by the first row. Throws UsageError.
CommandLine split_command_line(const std::vector<std::string>& arguments,
                               const std::vector<Command>& commands);

}  // namespace headgate
