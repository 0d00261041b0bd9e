// What one command of headgatectl is: a row of the table that the command line is read by, and that help, the manual
// page's synopsis and completion are written from. Each command defines its row in the file of its name.
#pragma once

#include <any>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct Invocation;

// What a shell completes a word to. The daemon that runs says which classes, interfaces and plans there are.
enum class Completes { nothing, class_name, interface, file, command, plan, class_key, shell };

enum class Occurs { once, at_most_once, at_least_once, any_times };

struct Operand {
  std::string_view name;  // as usage calls it
  Occurs occurs = Occurs::once;
  Completes completes = Completes::nothing;
  std::string_view alternative;  // a word in place of this one and of all behind it, such as "-"; empty: none
};

// Gives the value that a command asks Invocation for. Throws WrongValue; see option_value.hpp.
using ValueReader = std::function<std::any(const std::string& text)>;

struct Option {
  char letter = '\0';  // '\0': none. Another command may use it for an option of its own
  std::string_view name;
  std::string_view value;  // what usage calls its value; empty: it takes none
  std::string_view help;   // one line
  ValueReader read;        // none: the value is the text
  Completes completes = Completes::nothing;
  std::string_view value_left_out;  // what it then stands for; empty: the value must be there
  bool required = false;
  bool repeats = false;  // may be given several times: Invocation::values()
};

struct Command {
  std::string_view name;
  std::vector<Operand> operands;
  std::vector<Option> options;  // its own, beside the general ones
  std::string_view summary;     // one line
  std::string_view details;     // a paragraph, for help of this command
  std::vector<std::string_view> examples;
  int (*run)(
      const Invocation& invocation);  // returns the exit code; throws UsageError, ControlError, OutputClosed
};

// They go with every command and may stand before it.
const std::vector<Option>& general_options();

// Throws UsageError, which names the nearest one, where there is none of that name.
const Command& find_command(std::string_view name, const std::vector<Command>& commands);

// Null: neither the command's own nor a general one. `written` is as it is typed: "-n" or "--limit".
const Option* find_option(const Command& command, std::string_view written);

}  // namespace headgate
