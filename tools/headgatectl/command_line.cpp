#include "command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <utility>

#include "config/suggestion.hpp"
#include "invocation.hpp"
#include "usage_text.hpp"

namespace headgate {
namespace {

namespace po = boost::program_options;

using Arguments = std::vector<std::string>;

bool is_option(std::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' && argument != "--";
}

// "--limit" of "--limit=7"; of "-jn7" the first letter that is no general option's, "-n". Empty: general options alone.
std::string first_own_option(const std::string& argument) {
  static const Command none{};
  if (argument.starts_with("--")) {
    const std::string name = argument.substr(0, argument.find('='));
    return find_option(none, name) ? "" : name;
  }
  for (const char letter : argument.substr(1)) {
    const std::string name = {'-', letter};
    if (!find_option(none, name)) return name;
  }
  return "";
}

// How many arguments are general options before the command, and their values.
std::size_t count_in_front(const Arguments& arguments) {
  static const Command none{};
  std::size_t count = 0;
  while (count < arguments.size() && is_option(arguments[count]) &&
         first_own_option(arguments[count]).empty()) {
    const Option* option = find_option(none, arguments[count]);
    const bool value_is_next = option && !option->value.empty();
    count += value_is_next ? 2 : 1;
  }
  return std::min(count, arguments.size());
}

po::options_description describe(const Command& command) {
  po::options_description description;
  for (const std::vector<Option>* options : {&command.options, &general_options()}) {
    for (const Option& option : *options) {
      std::string name(option.name);
      if (option.letter != '\0') name += std::string(",") + option.letter;
      auto* value = po::value<std::string>();
      if (option.value.empty()) value->zero_tokens();
      if (!option.value_left_out.empty()) value->implicit_value("");
      description.add_options()(name.c_str(), value);
    }
  }
  return description;
}

std::string fault_of(const po::error_with_option_name& error, const Command& command) {
  const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
  if (!syntax) return std::string(": ") + error.what();
  if (syntax->kind() == po::invalid_syntax::extra_parameter) return " takes no value";
  return " needs " + with_article(find_option(command, error.get_option_name())->value);
}

// `"flows"`, or `"show" and "flows"`: the commands that have the option.
std::string commands_with(const std::string& written, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (find_option(command, written)) names.push_back("\"" + std::string(command.name) + "\"");
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

[[noreturn]] void refuse_option(const std::string& written, const Command& command,
                                const std::vector<Command>& commands) {
  const std::string others = commands_with(written, commands);
  if (!others.empty())
    throw UsageError(written + " does not go with \"" + std::string(command.name) + "\", but with " + others);
  std::vector<std::string> names;
  for (const std::vector<Option>* options : {&command.options, &general_options()}) {
    for (const Option& option : *options) names.push_back("--" + std::string(option.name));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw UsageError("unknown option \"" + written + "\", " + suggest(written, views));
}

std::vector<po::option> split(const Arguments& arguments, const Command& command,
                              const std::vector<Command>& commands) {
  constexpr int kStyle = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  const po::options_description description = describe(command);
  try {
    return po::command_line_parser(arguments).options(description).style(kStyle).run().options;
  } catch (const po::unknown_option& error) {
    refuse_option(error.get_option_name(), command, commands);
  } catch (const po::error_with_option_name& error) {
    throw UsageError("option \"" + error.get_option_name() + "\"" + fault_of(error, command));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

bool begins_like_a_number(const std::string& text) {
  return text.find_first_of("0123456789.+-") == 0;
}

// As the row of the command reads it.
CommandLine read(const Arguments& arguments, const Command& command, const std::vector<Command>& commands) {
  CommandLine line;
  for (const po::option& part : split(arguments, command, commands)) {
    if (part.string_key.empty()) {
      line.words.insert(line.words.end(), part.value.begin(), part.value.end());
      continue;
    }
    const Option& option = *find_option(command, "--" + part.string_key);
    std::string value = part.value.empty() ? "" : part.value.front();
    const bool stands_apart = part.original_tokens.size() > 1;
    if (!option.value_left_out.empty() && stands_apart && !begins_like_a_number(value))
      line.words.push_back(std::exchange(value, ""));
    line.options.push_back({&option, value});
  }
  return line;
}

// Of a line that begins with an option which is not general.
void refuse_option_before_command(const Arguments& arguments, std::size_t front,
                                  const std::vector<Command>& commands) {
  const std::string written = first_own_option(arguments[front]);
  for (const Command& command : commands) {
    if (std::find(arguments.begin() + static_cast<std::ptrdiff_t>(front), arguments.end(), command.name) ==
        arguments.end())
      continue;
    const Option* option = find_option(command, written);
    if (!option) refuse_option(written, command, commands);
    throw UsageError("option \"" + written +
                     "\" stands before its command: put it behind, as in headgatectl " +
                     std::string(command.name) + " " + short_form(*option));
  }
}

CommandLine read_without_command(const Arguments& arguments, std::size_t front,
                                 const std::vector<Command>& commands) {
  if (front < arguments.size()) refuse_option_before_command(arguments, front, commands);
  CommandLine line = read(arguments, commands.front(), commands);
  if (!line.words.empty() && !line.has("help")) find_command(line.words.front(), commands);
  return line;
}

}  // namespace

bool CommandLine::has(std::string_view option) const {
  return std::any_of(options.begin(), options.end(),
                     [&](const GivenOption& given) { return given.option->name == option; });
}

CommandLine split_command_line(const Arguments& arguments, const std::vector<Command>& commands) {
  const std::size_t front = count_in_front(arguments);
  const bool words_follow = front < arguments.size() && arguments[front] == "--";
  const std::size_t place = front + (words_follow ? 1 : 0);
  if (place >= arguments.size() || (!words_follow && is_option(arguments[place])))
    return read_without_command(arguments, front, commands);
  const bool wants_help = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
  static const Command none{};
  const bool known = std::any_of(commands.begin(), commands.end(),
                                 [&](const Command& command) { return command.name == arguments[place]; });
  if (!known && wants_help) return {.options = {{find_option(none, "--help"), ""}}};
  const Command& command = find_command(arguments[place], commands);
  Arguments rest = arguments;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(place));
  CommandLine line = read(rest, command, commands);
  line.command = &command;
  return line;
}

}  // namespace headgate
