#include "completion.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

constexpr std::string_view kNames = R"zsh(
_headgatectl_names() {
  local kind=$1
  shift
  local -a names
  [[ -n $opt_args[--control] ]] && control=(--control ${(Q)opt_args[--control]})
  names=(${(f)"$(headgatectl $control completion $kind $line[1] 2>/dev/null)"})
  compadd "$@" -a names
}
_headgatectl_classes() { _headgatectl_names classes "$@" }
_headgatectl_interfaces() { _headgatectl_names interfaces "$@" }
_headgatectl_plans() { _headgatectl_names plans "$@" }
_headgatectl_keys() { _headgatectl_names keys -S '' "$@" }
_headgatectl_shells() { compadd "$@" bash zsh fish }
_headgatectl_files() { _files "$@" }
)zsh";

// Within single quotes, where a colon or a bracket ends a part of a description.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '\'') {
      result += "'\\''";
      continue;
    }
    if (std::string_view("\\:[]").find(character) != std::string_view::npos) result += '\\';
    result += character;
  }
  return result;
}

std::string action(Completes completes) {
  return completes == Completes::nothing ? " " : "_headgatectl_" + std::string(kind_name(completes));
}

std::string option_spec(const Option& option) {
  const std::string name = "--" + std::string(option.name), help = "[" + escaped(option.help) + "]";
  std::string value;
  if (!option.value.empty())
    value =
        (option.value_left_out.empty() ? ":" : "::") + escaped(option.value) + ":" + action(option.completes);
  const std::string sign = option.value.empty() ? "" : option.value_left_out.empty() ? "=" : "=-";
  if (option.letter == '\0')
    return std::string(option.repeats ? "'*" : "'") + name + sign + help + value + "'";
  const std::string letter = std::string("-") + option.letter;
  const std::string letter_sign = option.value.empty() ? "" : option.value_left_out.empty() ? "+" : "-";
  return "'(" + letter + " " + name + ")'{" + letter + letter_sign + "," + name + sign + "}'" + help + value +
         "'";
}

std::string operand_spec(const Operand& operand, std::size_t place) {
  const std::string where = may_repeat(operand) ? "*" : std::to_string(place);
  return "'" + where + (may_lack(operand) && !may_repeat(operand) ? "::" : ":") + escaped(operand.name) +
         ":" + action(operand.completes) + "'";
}

std::string command_case(const Command& command) {
  std::string text = "        " + std::string(command.name) + ")\n          _arguments -S $general";
  for (const Option& option : command.options) text += " \\\n            " + option_spec(option);
  for (std::size_t place = 0; place < command.operands.size(); ++place)
    text += " \\\n            " + operand_spec(command.operands[place], place + 1);
  return text + "\n          ;;\n";
}

}  // namespace

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string general, described, cases;
  for (const Option& option : general_options()) general += "    " + option_spec(option) + "\n";
  for (const Command& command : commands) {
    described += "    '" + escaped(command.name) + ":" + escaped(command.summary) + "'\n";
    cases += command_case(command);
  }
  std::string own;  // of the command that no command means
  for (const Option& option : commands.front().options) own += " \\\n    " + option_spec(option);
  return "#compdef headgatectl\n# Completion of headgatectl for zsh, as printed by: headgatectl completion "
         "zsh\n" +
         std::string(kNames) + "\n_headgatectl_commands() {\n  local -a commands=(\n" + described +
         "  )\n  _describe -t commands command commands\n}\n"
         "\n_headgatectl() {\n  local curcontext=$curcontext state line\n  local -a control\n  local -A "
         "opt_args\n"
         "  local -a general=(\n" +
         general + "  )\n  _arguments -C -S -A '-*' $general" + own +
         " \\\n    '1:command:_headgatectl_commands' '*:: :->words' && return\n"
         "  [[ -n $opt_args[--control] ]] && control=(--control ${(Q)opt_args[--control]})\n"
         "  case $state in\n    words)\n      case $words[1] in\n" +
         cases + "      esac\n      ;;\n  esac\n}\n\n_headgatectl \"$@\"\n";
}

}  // namespace headgate
