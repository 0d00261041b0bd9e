// The command line of headgated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/compiled_matches.hpp"
#include "config/keys.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct CommandLine {
  enum class Action : std::uint8_t { run, check, cleanup, show_version, show_help };
  Action action = Action::run;

  std::string config_path = kDefaultConfigPath;  // of no interest where `config` is set
  std::optional<Config> config;                  // what --interface and its companions say: no file is read

  // What was said on the command line holds over what the file says, after each load: apply_to().
  DaemonConfig said;
  std::vector<const DaemonKey*> said_keys;
  void apply_to(Config& from_file) const;
};

struct CommandLineResult {
  CommandLine command_line;
  std::vector<std::string> errors;  // sentences that begin with the option: "--rate: ..."
  std::vector<std::string> warnings;
  bool ok() const { return errors.empty(); }
};

// `arguments` without the name of the program. Reports the first option that is unknown or has no value, else
// all that is wrong.
// --match is compiled in `matches`.
CommandLineResult parse_command_line(const std::vector<std::string>& arguments, CompiledMatches& matches);
CommandLineResult parse_command_line(const std::vector<std::string>& arguments);

std::string command_line_help();

}  // namespace headgate
