// Completion of the command line by a shell: the scripts, written from the table of commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace headgate {

// What the scripts call it; of those that headgatectl itself can list: `headgatectl completion classes`.
constexpr std::string_view kind_name(Completes completes) {
  switch (completes) {
    case Completes::class_name:
      return "classes";
    case Completes::interface:
      return "interfaces";
    case Completes::plan:
      return "plans";
    case Completes::class_key:
      return "keys";
    case Completes::file:
      return "files";
    case Completes::command:
      return "commands";
    case Completes::shell:
      return "shells";
    case Completes::nothing:
      break;
  }
  return "nothing";
}

// To be sourced, or installed where the shell finds completions. The program is called by the name headgatectl.
std::string bash_completion(const std::vector<Command>& commands);
std::string zsh_completion(const std::vector<Command>& commands);
std::string fish_completion(const std::vector<Command>& commands);

}  // namespace headgate
