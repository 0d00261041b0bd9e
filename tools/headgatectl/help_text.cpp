#include "help_text.hpp"

#include "option.hpp"

namespace headgate {
namespace {

constexpr std::size_t kCommandColumn = 32;
constexpr std::size_t kOptionColumn = 26;

// "-n N", "-w [SECONDS]", "--received": as usage writes it.
std::string short_form(const Option& option) {
  std::string text =
      option.letter != '\0' ? std::string("-") + option.letter : "--" + std::string(option.name);
  if (option.takes == Takes::number_or_nothing) return text + " [" + std::string(option.value) + "]";
  return option.value.empty() ? text : text + " " + std::string(option.value);
}

// "-w, --watch[=SECONDS]": as the list of options has it.
std::string long_form(const Option& option) {
  std::string text = option.letter != '\0' ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + std::string(option.name);
  if (option.takes == Takes::number_or_nothing) return text + "[=" + std::string(option.value) + "]";
  return option.value.empty() ? text : text + " " + std::string(option.value);
}

std::string usage_of(const Subcommand& command) {
  std::string text(command.name);
  if (!command.argument.empty()) {
    const std::string argument(command.argument);
    text += command.argument_required ? " " + argument : " [" + argument + "]";
  }
  if (!command.further.empty()) text += " " + std::string(command.further);
  for (const std::string_view name : command.options) {
    if (name.empty()) continue;
    const std::string option = short_form(option_named(name));
    text += name == command.needed_option ? " " + option : " [" + option + "]";
  }
  return text;
}

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

std::string examples_of(const Subcommand& command) {
  std::string text;
  for (const std::string_view example : command.examples) {
    if (!example.empty()) text += "  " + std::string(example) + "\n";
  }
  return text;
}

template <typename Wanted>
std::string option_list(Wanted wanted) {
  std::string text;
  for (const Option& option : options()) {
    if (wanted(option)) text += entry(long_form(option), option.help, kOptionColumn);
  }
  return text;
}

}  // namespace

std::string general_help(std::span<const Subcommand> subcommands) {
  std::string commands, examples;
  for (const Subcommand& command : subcommands) {
    std::string summary(command.summary);
    if (&command == &subcommands.front()) summary += " (what no command means)";
    commands += entry(usage_of(command), summary, kCommandColumn);
    examples += examples_of(command);
  }
  return "headgatectl shows and changes a running headgated.\n\n"
         "Usage: headgatectl [--control PATH] [-j] [COMMAND]\n\n"
         "Commands:\n" +
         commands + "\nA CLASS is eth0/egress/dns, or dns where that is unique.\n\nOptions:\n" +
         option_list([](const Option&) { return true; }) + "\nExamples:\n" + examples +
         "\nExit codes: 0 done, 1 wrong usage or configuration, 2 refused, 3 headgated is not running, "
         "4 not permitted.\n";
}

std::string help_of(const Subcommand& command) {
  const std::string own =
      option_list([&](const Option& option) { return !option.general && command.has_own(option.name); });
  const std::string general = option_list([](const Option& option) { return option.general; });
  return "Usage: headgatectl [--control PATH] [-j] " + usage_of(command) + "\n\n" +
         std::string(command.details) + "\n\nOptions:\n" + own + general + "\nExamples:\n" +
         examples_of(command);
}

}  // namespace headgate
