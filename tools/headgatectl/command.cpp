#include "command.hpp"

#include <algorithm>

#include "config/suggestion.hpp"
#include "invocation.hpp"

namespace headgate {
namespace {

bool is_written(const Option& option, std::string_view written) {
  if (written.size() == 2 && written[1] != '-') return option.letter == written[1];
  return written.substr(std::min<std::size_t>(2, written.size())) == option.name;
}

}  // namespace

const std::vector<Option>& general_options() {
  static const std::vector<Option> options = {
      {.letter = 'j', .name = "json", .help = "print JSON with a \"schema\" member"},
      {.name = "control",
       .value = "PATH",
       .help = "control socket, /run/headgate/control.sock unless given",
       .completes = Completes::file},
      {.name = "version", .help = "print the version of headgatectl"},
      {.letter = 'h', .name = "help", .help = "print help, of a command where one is given"},
  };
  return options;
}

const Command& find_command(std::string_view name, const std::vector<Command>& commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw UsageError("unknown command \"" + std::string(name) + "\", " + suggest(name, names));
}

const Option* find_option(const Command& command, std::string_view written) {
  for (const std::vector<Option>* options : {&command.options, &general_options()}) {
    const auto found = std::find_if(options->begin(), options->end(),
                                    [&](const Option& option) { return is_written(option, written); });
    if (found != options->end()) return &*found;
  }
  return nullptr;
}

}  // namespace headgate
