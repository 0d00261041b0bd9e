// headgatectl help: what there is, or what a command does.
#include "commands.hpp"
#include "help_text.hpp"
#include "invocation.hpp"
#include "output.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

int help(const Invocation& invocation) {
  const std::string name = invocation.operand("COMMAND");
  print(name.empty() ? general_help(commands()) : help_of(find_command(name, commands())));
  return kExitOk;
}

}  // namespace

Command help_command() {
  return {
      .name = "help",
      .operands = {{.name = "COMMAND", .occurs = Occurs::at_most_once, .completes = Completes::command}},
      .summary = "this, or what a command does, its options and examples",
      .details = "What the command does, its options and examples; as headgatectl COMMAND --help.",
      .examples = {"headgatectl help capture"},
      .run = help,
  };
}

}  // namespace headgate
