#include "invocation.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>

#include "config/suggestion.hpp"
#include "headgate/control_message.hpp"

namespace headgate {
namespace {

namespace po = boost::program_options;

po::options_description known_options() {
  po::options_description options;
  options.add_options()("help,h", "")("version", "")("json,j", "")("bytes,b", "");
  options.add_options()("control", po::value<std::string>());
  options.add_options()("limit,n", po::value<std::string>());
  options.add_options()("watch,w", po::value<std::string>()->implicit_value(""));
  options.add_options()("write", po::value<std::string>())("count,c", po::value<std::string>());
  options.add_options()("received", "")("sent", "")("dropped", "");
  options.add_options()("word", po::value<std::vector<std::string>>());
  return options;
}

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string fault_of(const po::error_with_option_name& error) {
  if (dynamic_cast<const po::multiple_occurrences*>(&error)) return " is given twice";
  const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
  if (!syntax) return std::string(": ") + error.what();
  if (syntax->kind() == po::invalid_syntax::extra_parameter) return " takes no value";
  const bool number = error.get_option_name() == "--limit" || error.get_option_name() == "--count";
  if (error.get_option_name() == "--write") return " needs a FILE";
  return " needs " + std::string(number ? "an N" : "a PATH");
}

po::variables_map read(const std::vector<std::string>& arguments) {
  constexpr int kStyle = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  const po::options_description options = known_options();
  po::positional_options_description words;
  words.add("word", -1);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).positional(words).style(kStyle).run(),
              values);
  } catch (const po::unknown_option& error) {
    constexpr std::string_view kOptions[] = {"--json",  "--bytes",    "--limit",   "--watch",
                                             "--write", "--received", "--sent",    "--dropped",
                                             "--count", "--control",  "--version", "--help"};
    throw UsageError("unknown option " + in_quotes(error.get_option_name()) + ", " +
                     suggest(error.get_option_name(), kOptions));
  } catch (const po::error_with_option_name& error) {
    throw UsageError("option " + in_quotes(error.get_option_name()) + fault_of(error));
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return values;
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::size_t read_limit(const std::string& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= 1 && value <= kMaxFlowLimit) return value;
  throw UsageError("--limit " + in_quotes(text) + " is not a whole number from 1 to " +
                   std::to_string(kMaxFlowLimit));
}

Duration read_interval(const std::string& text) {
  if (text.empty()) return std::chrono::seconds(1);
  const std::optional<double> seconds = number(text);
  if (seconds && *seconds >= 0.1 && *seconds <= 86'400) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
  }
  throw UsageError("--watch " + in_quotes(text) + " is not a number of seconds from 0.1 to 86400");
}

std::uint64_t read_count(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1) return value;
  throw UsageError("--count " + in_quotes(text) + " is not a whole number from 1 on");
}

const Subcommand& find_subcommand(const std::string& name, std::span<const Subcommand> subcommands) {
  std::vector<std::string_view> names;
  for (const Subcommand& subcommand : subcommands) {
    if (subcommand.name == name) return subcommand;
    names.push_back(subcommand.name);
  }
  throw UsageError("unknown command " + in_quotes(name) + ", " + suggest(name, names));
}

void refuse_foreign_options(const po::variables_map& values, const Subcommand& command) {
  for (const char* option : {"limit", "watch", "bytes", "write", "received", "sent", "dropped", "count"}) {
    const bool own =
        (" " + std::string(command.options) + " ").find(" " + std::string(option) + " ") != std::string::npos;
    const bool write_by_its_letter = command.name == "capture" && std::string_view(option) == "watch";
    if (values.count(option) != 0 && !own && !write_by_its_letter) {
      throw UsageError("--" + std::string(option) + " does not go with " + in_quotes(command.name));
    }
  }
}

void read_argument(const std::vector<std::string>& words, Invocation& invocation) {
  const Subcommand& command = *invocation.command;
  const std::size_t most = command.argument.empty() ? 1 : 2;
  if (words.size() > most) {
    throw UsageError("too many words for " + in_quotes(command.name) + ": " + in_quotes(words[most]));
  }
  if (words.size() == 2) invocation.argument = words[1];
  if (command.argument_required && invocation.argument.empty()) {
    throw UsageError(in_quotes(command.name) + " needs a " + std::string(command.argument));
  }
}

// -w is short for --write here, and for --watch elsewhere.
void read_capture(const po::variables_map& values, std::optional<std::string> short_write,
                  Invocation& invocation) {
  if (values.count("write") != 0) invocation.file = values["write"].as<std::string>();
  if (short_write) invocation.file = *short_write;
  if (invocation.file.empty())
    throw UsageError(in_quotes("capture") + " needs -w FILE; -w - is standard output");
  for (std::size_t i = 0; i < kPacketEventCount; ++i)
    invocation.events[i] = values.count(std::string(kPacketEventNames[i])) != 0;
  if (values.count("count") != 0) invocation.count = read_count(values["count"].as<std::string>());
}

}  // namespace

Invocation parse_invocation(const std::vector<std::string>& arguments,
                            std::span<const Subcommand> subcommands) {
  const po::variables_map values = read(arguments);
  Invocation invocation;
  invocation.help = values.count("help") != 0;
  invocation.version = values.count("version") != 0;
  if (invocation.help || invocation.version) return invocation;

  std::vector<std::string> words;
  if (values.count("word") != 0) words = values["word"].as<std::vector<std::string>>();
  const bool captures = !words.empty() && words.front() == "capture";
  if (values.count("watch") != 0 && !captures) {
    std::string interval = values["watch"].as<std::string>();
    // Its value may be left out, so in "--watch show" it has taken the command for it.
    const bool is_word = !interval.empty() && interval.find_first_not_of("0123456789.+-") == 0;
    if (is_word) words.insert(words.begin(), std::exchange(interval, ""));
    invocation.watch = read_interval(interval);
  }
  invocation.command = words.empty() ? &subcommands.front() : &find_subcommand(words.front(), subcommands);
  refuse_foreign_options(values, *invocation.command);
  read_argument(words, invocation);
  if (captures) {
    std::optional<std::string> short_write;
    if (values.count("watch") != 0) short_write = values["watch"].as<std::string>();
    read_capture(values, short_write, invocation);
  }

  invocation.json = values.count("json") != 0;
  invocation.bytes = values.count("bytes") != 0;
  if (values.count("control") != 0) invocation.control = values["control"].as<std::string>();
  if (values.count("limit") != 0) invocation.limit = read_limit(values["limit"].as<std::string>());
  return invocation;
}

}  // namespace headgate
