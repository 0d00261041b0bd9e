#include "completion.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

// Which command and operand the cursor is at.
constexpr std::string_view kPlace = R"fish(
# Prints the command that stands before the cursor and how many words behind it; "/0" where none does.
function __headgatectl_place
    set -l words (commandline -opc)
    set -l command ''
    set -l place 0
    set -e words[1]
    while set -q words[1]
        if __headgatectl_takes_value "$command/$words[1]"
            set -e words[1]
        else if not string match -q -- '-?*' $words[1]
            if test -z "$command"
                set command $words[1]
            else
                set place (math $place + 1)
            end
        end
        set -e words[1]
    end
    echo "$command/$place"
end

function __headgatectl_at
    contains -- (__headgatectl_place) $argv
end

function __headgatectl_in
    string match -q -- "$argv[1]/*" (__headgatectl_place)
end

function __headgatectl_names
    headgatectl completion $argv 2>/dev/null
end
)fish";

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char character : text) {
    if (character == '\'' || character == '\\') result += '\\';
    result += character;
  }
  return result + "'";
}

std::string candidates(Completes completes) {
  if (completes == Completes::file) return " -F";
  if (completes == Completes::nothing) return "";
  if (completes == Completes::shell) return " -a 'bash zsh fish'";
  return " -a '(__headgatectl_names " + std::string(kind_name(completes)) + ")'";
}

std::string option_line(const Option& option, const std::string& condition) {
  std::string line = "complete -c headgatectl" + condition;
  if (option.letter != '\0') line += std::string(" -s ") + option.letter;
  line += " -l " + std::string(option.name);
  if (!option.value.empty() && option.value_left_out.empty())
    line += option.completes == Completes::file ? " -r -F" : " -x" + candidates(option.completes);
  return line + " -d " + in_quotes(option.help) + "\n";
}

std::string operand_line(const Command& command, std::size_t place) {
  const Operand& operand = command.operands[place];
  if (operand.completes == Completes::nothing) return "";
  const std::string name(command.name);
  const std::string condition = may_repeat(operand)
                                    ? "'__headgatectl_in " + name + "'"
                                    : "'__headgatectl_at " + name + "/" + std::to_string(place) + "'";
  const std::string found = operand.completes == Completes::command ? " -a \"$__headgatectl_commands\""
                                                                    : candidates(operand.completes);
  return "complete -c headgatectl -n " + condition + found + "\n";
}

std::string value_function(const std::vector<Command>& commands) {
  std::string cases;
  const auto add = [&](const Option& option, const std::string& command) {
    if (option.value.empty() || !option.value_left_out.empty()) return;
    cases += " '" + command + "/--" + std::string(option.name) + "'";
    if (option.letter != '\0') cases += " '" + command + "/-" + option.letter + "'";
  };
  for (const Option& option : general_options()) add(option, "*");
  for (const Command& command : commands) {
    for (const Option& option : command.options) add(option, std::string(command.name));
  }
  return "function __headgatectl_takes_value\n    switch $argv[1]\n        case" + cases +
         "\n            return 0\n    end\n    return 1\nend\n";
}

}  // namespace

std::string fish_completion(const std::vector<Command>& commands) {
  std::string names, lines;
  for (const Option& option : general_options()) lines += option_line(option, "");
  for (const Command& command : commands) {
    const std::string name(command.name);
    names += " " + name;
    lines += "complete -c headgatectl -n '__headgatectl_at /0' -a " + name + " -d " +
             in_quotes(command.summary) + "\n";
    const bool is_default = &command == &commands.front();
    const std::string condition = is_default ? " -n '__headgatectl_in " + name + "; or __headgatectl_in \"\"'"
                                             : " -n '__headgatectl_in " + name + "'";
    for (const Option& option : command.options) lines += option_line(option, condition);
    for (std::size_t place = 0; place < command.operands.size(); ++place)
      lines += operand_line(command, place);
  }
  return "# Completion of headgatectl for fish, as printed by: headgatectl completion fish\n\n" +
         value_function(commands) + std::string(kPlace) + "\nset -g __headgatectl_commands" + names +
         "\ncomplete -c headgatectl -f\n" + lines;
}

}  // namespace headgate
