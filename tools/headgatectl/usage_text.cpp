#include "usage_text.hpp"

namespace headgate {
namespace {

std::string operand_text(const Operand& operand) {
  const std::string name = std::string(operand.name) + (may_repeat(operand) ? "..." : "");
  return may_lack(operand) ? "[" + name + "]" : name;
}

}  // namespace

std::string short_form(const Option& option) {
  std::string text =
      option.letter != '\0' ? std::string("-") + option.letter : "--" + std::string(option.name);
  if (!option.value_left_out.empty()) return text + " [" + std::string(option.value) + "]";
  return option.value.empty() ? text : text + " " + std::string(option.value);
}

std::string long_form(const Option& option) {
  std::string text = option.letter != '\0' ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + std::string(option.name);
  if (!option.value_left_out.empty()) return text + "[=" + std::string(option.value) + "]";
  return option.value.empty() ? text : text + " " + std::string(option.value);
}

std::string operands_text(const Command& command) {
  std::string text, alternative;
  for (const Operand& operand : command.operands) {
    if (!text.empty()) text += " ";
    if (!operand.alternative.empty()) {
      text += "{";
      alternative = " | " + std::string(operand.alternative) + "}";
    }
    text += operand_text(operand);
  }
  return text + alternative;
}

std::string usage_of(const Command& command) {
  std::string text(command.name);
  if (!command.operands.empty()) text += " " + operands_text(command);
  for (const Option& option : command.options) {
    const std::string form = short_form(option);
    text += option.required ? " " + form : " [" + form + "]";
  }
  return text;
}

std::string with_article(std::string_view name) {
  const bool vowel = name == "N" || name.find_first_of("AEIOU") == 0;
  return (vowel ? "an " : "a ") + std::string(name);
}

}  // namespace headgate
