#include "help_text.hpp"

#include "usage_text.hpp"

namespace headgate {
namespace {

constexpr std::size_t kCommandColumn = 32;
constexpr std::size_t kOptionColumn = 26;

// Two columns; what is too long for the first has a line of its own.
std::string entry(const std::string& name, std::string_view text, std::size_t column) {
  std::string line = "  " + name;
  if (line.size() < column) {
    line.resize(column, ' ');
  } else {
    line += "\n" + std::string(column, ' ');
  }
  return line + std::string(text) + "\n";
}

std::string option_list(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) text += entry(long_form(option), option.help, kOptionColumn);
  return text;
}

}  // namespace

std::string general_help(const std::vector<Command>& commands) {
  std::string list, examples;
  for (const Command& command : commands) {
    std::string summary(command.summary);
    if (&command == &commands.front()) summary += " (what no command means)";
    list += entry(usage_of(command), summary, kCommandColumn);
    if (!command.examples.empty()) examples += "  " + std::string(command.examples.front()) + "\n";
  }
  return "headgatectl shows and changes a running headgated.\n\n"
         "Usage: headgatectl [--control PATH] [-j] [COMMAND]\n\n"
         "Commands:\n" +
         list +
         "\nA CLASS is eth0/egress/dns, or dns where that is unique. The options of a command stand behind "
         "it;\n"
         "headgatectl COMMAND --help says what they do.\n\nOptions of every command:\n" +
         option_list(general_options()) + "\nExamples:\n" + examples +
         "\nExit codes: 0 done, 1 wrong usage or configuration, 2 refused, 3 headgated is not running, "
         "4 not permitted.\n";
}

std::string help_of(const Command& command) {
  std::string examples;
  for (const std::string_view example : command.examples) examples += "  " + std::string(example) + "\n";
  return "Usage: headgatectl [--control PATH] [-j] " + usage_of(command) + "\n\n" +
         std::string(command.details) + "\n\nOptions:\n" + option_list(command.options) +
         option_list(general_options()) + "\nExamples:\n" + examples;
}

}  // namespace headgate
