#include "completion.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

// The rest of the script, which is the same whatever the table.
constexpr std::string_view kReading = R"bash(
# Those lines of standard input that begin as the word does. Names may hold what the shell takes for its own.
_headgatectl_offer() {
  local candidate
  while IFS= read -r candidate; do
    [[ $candidate == "$current"* ]] && COMPREPLY+=("$(printf %q "$candidate")")
  done
}

_headgatectl_complete() {
  case $kind in
    nothing) ;;
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    commands) _headgatectl_offer <<<"$commands" ;;
    shells) _headgatectl_offer <<<$'bash\nzsh\nfish' ;;
    *)
      [[ $kind == keys ]] && compopt -o nospace 2>/dev/null
      _headgatectl_offer < <(headgatectl "${control[@]}" completion "$kind" "$first" 2>/dev/null)
      ;;
  esac
}

# "--limit=7" and "rate=1mbit" stand in COMP_WORDS as three words.
_headgatectl() {
  local current=${COMP_WORDS[COMP_CWORD]} command= first= kind=nothing place=0 ended= word options i
  local control=()
  COMPREPLY=()
  [[ $current == = ]] && current=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -z $ended && $word == -- ]]; then
      ended=1
    elif [[ -z $ended && $word == -?* ]]; then
      _headgatectl_value "${command:-show}" "$word"
      case $? in
        0)
          [[ ${COMP_WORDS[i + 1]} == = ]] && ((++i))
          ((i + 1 >= COMP_CWORD)) && { _headgatectl_complete; return; }
          ((++i))
          [[ $word == --control ]] && control=(--control "${COMP_WORDS[i]}")
          ;;
        2)
          [[ ${COMP_WORDS[i + 1]} == = ]] && ((++i))
          ((i + 1 >= COMP_CWORD)) && [[ ${COMP_WORDS[i]} == = ]] && return
          [[ ${COMP_WORDS[i + 1]} == [0-9.]* ]] && ((++i))
          ;;
      esac
    elif [[ $word == = ]]; then
      ((++i))
    elif [[ -z $command ]]; then
      command=$word
    else
      [[ $place == 0 ]] && first=$word
      ((++place))
    fi
  done
  [[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && return
  if [[ -z $ended && $current == -* ]]; then
    _headgatectl_options "${command:-show}"
    _headgatectl_offer <<<"${options// /$'\n'}"
  else
    kind=commands
    [[ -n $command ]] && _headgatectl_operand "$command/$place"
    _headgatectl_complete
  fi
}

complete -F _headgatectl headgatectl
)bash";

std::string written(const Option& option, const std::string& between, const std::string& before = "") {
  const std::string name = before + "--" + std::string(option.name);
  return option.letter == '\0' ? name : before + "-" + option.letter + between + name;
}

std::string value_case(const Option& option, const std::string& command) {
  if (option.value.empty()) return "";
  const std::string found = option.value_left_out.empty() ? "kind=" + std::string(kind_name(option.completes))
                                                          : std::string("return 2");
  return "    " + written(option, " | ", command + "/") + ") " + found + " ;;\n";
}

std::string value_function(const std::vector<Command>& commands) {
  std::string cases;
  for (const Option& option : general_options()) cases += value_case(option, "*");
  for (const Command& command : commands) {
    for (const Option& option : command.options) cases += value_case(option, std::string(command.name));
  }
  return "# Fails where the option takes no value, with 2 where it may be left out.\n"
         "_headgatectl_value() {\n  case $1/$2 in\n" +
         cases + "    *) return 1 ;;\n  esac\n}\n";
}

std::string option_function(const std::vector<Command>& commands) {
  std::string general, cases;
  for (const Option& option : general_options()) general += " " + written(option, " ");
  for (const Command& command : commands) {
    if (command.options.empty()) continue;
    cases += "    " + std::string(command.name) + ") options='";
    for (const Option& option : command.options) cases += written(option, " ") + " ";
    cases.back() = '\'';
    cases += " ;;\n";
  }
  return "_headgatectl_options() {\n  options=\n  case $1 in\n" + cases + "  esac\n  options+='" + general +
         "'\n}\n";
}

std::string operand_function(const std::vector<Command>& commands) {
  std::string cases;
  for (const Command& command : commands) {
    for (std::size_t place = 0; place < command.operands.size(); ++place) {
      const Operand& operand = command.operands[place];
      if (operand.completes == Completes::nothing) continue;
      cases += "    " + std::string(command.name) + "/" +
               (may_repeat(operand) ? "*" : std::to_string(place)) +
               ") kind=" + std::string(kind_name(operand.completes)) + " ;;\n";
    }
  }
  return "_headgatectl_operand() {\n  case $1 in\n" + cases + "    *) kind=nothing ;;\n  esac\n}\n";
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands) {
  std::string names;
  for (const Command& command : commands) {
    if (!names.empty()) names += "\\n";
    names += command.name;
  }
  std::string reading(kReading);
  const std::string placeholder = "\"$commands\"";
  reading.replace(reading.find(placeholder), placeholder.size(), "$'" + names + "'");
  return "# Completion of headgatectl for bash, as printed by: headgatectl completion bash\n\n" +
         value_function(commands) + "\n" + option_function(commands) + "\n" + operand_function(commands) +
         reading;
}

}  // namespace headgate
