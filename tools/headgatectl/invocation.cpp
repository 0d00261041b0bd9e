#include "invocation.hpp"

#include <algorithm>
#include <set>

#include "command_line.hpp"
#include "option_value.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

bool must_occur(const Operand& operand) {
  return operand.occurs == Occurs::once || operand.occurs == Occurs::at_least_once;
}

[[noreturn]] void refuse_lack(const Operand& operand, const Command& command) {
  std::string message = in_quotes(command.name) + " needs " + with_article(operand.name);
  if (command.operands.size() > 1)
    message += ", as in " + std::string(command.name) + " " + operands_text(command);
  throw UsageError(message);
}

void check_words(const std::vector<std::string>& words, const Command& command) {
  std::size_t taken = 0;
  for (const Operand& operand : command.operands) {
    const bool given = taken < words.size() && !words[taken].empty();
    if (!given && must_occur(operand)) refuse_lack(operand, command);
    const bool ends = given && words[taken] == operand.alternative;
    taken = may_repeat(operand) ? words.size() : std::min(taken + 1, words.size());
    if (ends) break;
  }
  if (taken < words.size())
    throw UsageError("too many words for " + in_quotes(command.name) + ": " + in_quotes(words[taken]));
}

void refuse_repetition(const CommandLine& line) {
  std::set<const Option*> seen;
  for (const GivenOption& given : line.options) {
    if (!seen.insert(given.option).second && !given.option->repeats && !given.value.empty())
      throw UsageError("option " + in_quotes("--" + std::string(given.option->name)) + " is given twice");
  }
}

std::any value_of(const GivenOption& given) {
  const Option& option = *given.option;
  const std::string text = given.value.empty() ? std::string(option.value_left_out) : given.value;
  const std::string name = "--" + std::string(option.name);
  if (!option.value.empty() && text.empty())
    throw UsageError("option " + in_quotes(name) + " needs " + with_article(option.value));
  if (!option.read) return text;
  try {
    return option.read(text);
  } catch (const WrongValue& error) {
    throw UsageError(name + " " + in_quotes(text) + " is not " + error.what());
  }
}

void refuse_lacking_option(const Invocation& invocation) {
  for (const Option& option : invocation.command->options) {
    if (!option.required || invocation.has(option.name)) continue;
    throw UsageError(in_quotes(invocation.command->name) + " needs " + short_form(option) + ": " +
                     std::string(option.help));
  }
}

void take_option(const GivenOption& given, Invocation& invocation) {
  const std::string_view name = given.option->name;
  if (name == "json") {
    invocation.json = true;
  } else if (name == "control") {
    invocation.control = std::any_cast<std::string>(value_of(given));
  } else if (given.option->repeats) {
    std::vector<std::string> values = invocation.values(name);
    values.push_back(std::any_cast<std::string>(value_of(given)));
    invocation.options[std::string(name)] = values;
  } else {
    invocation.options[std::string(name)] = value_of(given);
  }
}

std::size_t place_of(std::string_view operand, const Command& command) {
  const auto found = std::find_if(command.operands.begin(), command.operands.end(),
                                  [&](const Operand& other) { return other.name == operand; });
  if (found == command.operands.end()) throw std::logic_error("no operand " + std::string(operand));
  return static_cast<std::size_t>(found - command.operands.begin());
}

}  // namespace

std::string Invocation::operand(std::string_view name) const {
  const std::size_t place = place_of(name, *command);
  return place < words.size() ? words[place] : "";
}

std::vector<std::string> Invocation::operands(std::string_view name) const {
  const std::size_t place = std::min(place_of(name, *command), words.size());
  return {words.begin() + static_cast<std::ptrdiff_t>(place), words.end()};
}

Invocation parse_invocation(const std::vector<std::string>& arguments, const std::vector<Command>& commands) {
  const CommandLine line = split_command_line(arguments, commands);
  Invocation invocation{.command = line.command};
  invocation.help = line.has("help");
  invocation.version = line.has("version");
  if (invocation.help || invocation.version) return invocation;
  if (!invocation.command) invocation.command = &commands.front();
  refuse_repetition(line);
  check_words(line.words, *invocation.command);
  invocation.words = line.words;
  for (const GivenOption& given : line.options) take_option(given, invocation);
  refuse_lacking_option(invocation);
  return invocation;
}

}  // namespace headgate
