#include "invocation.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <set>
#include <utility>

#include "config/suggestion.hpp"
#include "option.hpp"

namespace headgate {
namespace {

namespace po = boost::program_options;

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

struct GivenOption {
  const Option* option;
  std::string value;
};

// As it was typed, in order.
struct CommandLine {
  std::vector<std::string> words;
  std::vector<GivenOption> options;
  bool doubtful = false;  // a word might as well be the value of an option

  bool has(std::string_view option) const {
    return std::any_of(options.begin(), options.end(),
                       [&](const GivenOption& given) { return given.option->name == option; });
  }
};

// A letter of several options is that of the command's own, or else that of the first in the table.
bool letter_is_free(const Option& option, const Subcommand& command) {
  if (option.letter == '\0') return false;
  const auto same_letter = [&](const Option& other) { return other.letter == option.letter; };
  const auto own = [&](const Option& other) { return same_letter(other) && command.has_own(other.name); };
  const auto all = options();
  const auto first = std::find_if(all.begin(), all.end(), own);
  return &option == &*(first != all.end() ? first : std::find_if(all.begin(), all.end(), same_letter));
}

po::options_description describe(const Subcommand& command) {
  po::options_description description;
  for (const Option& option : options()) {
    std::string name(option.name);
    if (letter_is_free(option, command)) name += std::string(",") + option.letter;
    auto* value = po::value<std::string>();
    if (option.takes == Takes::nothing) value->zero_tokens();
    if (option.takes == Takes::value_or_nothing || option.takes == Takes::number_or_nothing)
      value->implicit_value("");
    description.add_options()(name.c_str(), value);
  }
  return description;
}

std::string fault_of(const po::error_with_option_name& error) {
  const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
  if (!syntax) return std::string(": ") + error.what();
  if (syntax->kind() == po::invalid_syntax::extra_parameter) return " takes no value";
  const std::string_view value = option_named(error.get_option_name().substr(2)).value;
  return std::string(" needs ") + (value == "N" ? "an " : "a ") + std::string(value);
}

[[noreturn]] void refuse_unknown_option(const std::string& typed) {
  std::vector<std::string> names;
  for (const Option& option : options()) names.push_back("--" + std::string(option.name));
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw UsageError("unknown option " + in_quotes(typed) + ", " + suggest(typed, views));
}

std::vector<po::option> split(const std::vector<std::string>& arguments, const Subcommand& command) {
  constexpr int kStyle = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  const po::options_description description = describe(command);
  try {
    return po::command_line_parser(arguments).options(description).style(kStyle).run().options;
  } catch (const po::unknown_option& error) {
    refuse_unknown_option(error.get_option_name());
  } catch (const po::error_with_option_name& error) {
    throw UsageError("option " + in_quotes(error.get_option_name()) + fault_of(error));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

bool begins_like_a_number(const std::string& text) {
  return text.find_first_of("0123456789.+-") == 0;
}

// As it reads when the command is this one.
CommandLine read(const std::vector<std::string>& arguments, const Subcommand& command) {
  CommandLine line;
  for (const po::option& part : split(arguments, command)) {
    if (part.string_key.empty()) {
      line.words.insert(line.words.end(), part.value.begin(), part.value.end());
      continue;
    }
    const Option& option = option_named(part.string_key);
    std::string value = part.value.empty() ? "" : part.value.front();
    const bool stands_apart = part.original_tokens.size() > 1;
    if (option.takes == Takes::number_or_nothing && stands_apart && !begins_like_a_number(value)) {
      line.words.push_back(std::exchange(value, ""));
      line.doubtful = true;
    }
    line.options.push_back({&option, value});
  }
  return line;
}

void refuse_foreign_options(const CommandLine& line, const Subcommand& command) {
  std::set<const Option*> seen;
  for (const GivenOption& given : line.options) {
    const std::string name = "--" + std::string(given.option->name);
    if (!given.option->general && !command.has_own(given.option->name))
      throw UsageError(name + " does not go with " + in_quotes(command.name));
    const bool first = seen.insert(given.option).second;
    const bool value_left_out = given.option->takes != Takes::nothing && given.value.empty();
    if (!first && !value_left_out) throw UsageError("option " + in_quotes(name) + " is given twice");
  }
}

std::string read_argument(const std::vector<std::string>& words, const Subcommand& command) {
  const std::size_t most = (command.argument.empty() ? 1 : 2) + command.most_words;
  if (words.size() > most)
    throw UsageError("too many words for " + in_quotes(command.name) + ": " + in_quotes(words[most]));
  const std::string argument = words.size() >= 2 ? words[1] : "";
  if (command.argument_required && argument.empty())
    throw UsageError(in_quotes(command.name) + " needs a " + std::string(command.argument));
  return argument;
}

Invocation invocation_of(const CommandLine& line, const Subcommand* command) {
  Invocation invocation{.command = command};
  invocation.help = line.has("help");
  invocation.version = line.has("version");
  if (invocation.help || invocation.version) return invocation;
  refuse_foreign_options(line, *command);
  invocation.argument = read_argument(line.words, *command);
  if (line.words.size() > 2) invocation.further.assign(line.words.begin() + 2, line.words.end());
  bool complete = command->needed_option.empty();
  for (const GivenOption& given : line.options) {
    given.option->read(given.value, invocation);
    complete |= given.option->name == command->needed_option && !given.value.empty();
  }
  if (!complete) throw UsageError(in_quotes(command->name) + " needs " + std::string(command->needed));
  return invocation;
}

}  // namespace

bool Subcommand::has_own(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

const Subcommand& find_subcommand(std::string_view name, std::span<const Subcommand> subcommands) {
  std::vector<std::string_view> names;
  for (const Subcommand& subcommand : subcommands) {
    if (subcommand.name == name) return subcommand;
    names.push_back(subcommand.name);
  }
  throw UsageError("unknown command " + in_quotes(name) + ", " + suggest(name, names));
}

// The command is the first word. Which word that is may depend on the command itself: the -w of one is followed
// by a file, that of another by a number or nothing. So it is the one as whose line its own name comes first.
Invocation parse_invocation(const std::vector<std::string>& arguments,
                            std::span<const Subcommand> subcommands) {
  for (const bool doubtful : {false, true}) {
    for (const Subcommand& command : subcommands) {
      const CommandLine line = read(arguments, command);
      if (line.doubtful == doubtful && !line.words.empty() && line.words.front() == command.name)
        return invocation_of(line, &command);
    }
  }
  const CommandLine line = read(arguments, subcommands.front());
  if (line.has("help") || line.has("version")) return invocation_of(line, nullptr);
  return invocation_of(
      line, line.words.empty() ? &subcommands.front() : &find_subcommand(line.words.front(), subcommands));
}

}  // namespace headgate
