#include "config/command_line.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "config/characters.hpp"
#include "config/file_text.hpp"
#include "config/findings.hpp"
#include "config/kernel_selectors.hpp"
#include "config/keys.hpp"
#include "config/match_check.hpp"
#include "config/network_lists.hpp"
#include "config/reading.hpp"
#include "config/shape_rules.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

namespace options = boost::program_options;
using Values = std::vector<std::string>;

// Options that are no key of the file.
struct PlainOption {
  std::string_view name;
  KeyOption option;  // without a value for its word: it takes none
};

constexpr std::array kSources = {
    PlainOption{"config",
                {.value = "FILE",
                 .example = "/etc/headgate/headgate.toml",
                 .help = "the configuration (/etc/headgate/headgate.toml)"}},
    PlainOption{"check",
                {.help = "read the configuration, say what is wrong with it, and end; here FILE may be a "
                         "pipe, and - is standard input"}},
    PlainOption{"cleanup", {.help = "remove what a dead headgated left behind, and end"}},
};
constexpr std::array kInformation = {
    PlainOption{"version", {.help = "print the version, and end"}},
    PlainOption{"help", {.help = "print this help, and end"}},
};

struct Option {
  std::string name;
  std::string_view example;      // of its value; empty: it takes none
  bool repeats = false;          // several values make a list, as in the file
  bool describes_shape = false;  // a companion of --interface
};

// Options are named as the keys of the file, but for the hyphens.
std::string option_name(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

template <typename Key>
void add_options(std::span<const Key> keys, bool describes_shape, std::vector<Option>& options) {
  for (const Key& key : keys) {
    if (!key.option) continue;
    options.push_back({option_name(key.name), key.option.example, key.option.repeats, describes_shape});
  }
}

void add_options(std::span<const PlainOption> plain, std::vector<Option>& options) {
  for (const PlainOption& one : plain) options.push_back({std::string(one.name), one.option.example});
}

const std::vector<Option>& all_options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> options;
    add_options(kSources, options);
    add_options(daemon_keys(), false, options);
    add_options(shape_keys(), true, options);
    add_options(class_keys(), true, options);
    add_options(kInformation, options);
    return options;
  }();
  return kOptions;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : all_options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string strip_dashes(std::string name) {
  return name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
}

std::string explain_unknown(const std::string& option_name) {
  std::vector<std::string_view> names;
  names.reserve(all_options().size());
  for (const Option& option : all_options()) names.push_back(option.name);
  const std::string name = strip_dashes(option_name);
  auto nearest = nearest_word(name, names);
  for (const std::string_view candidate : names) {
    if (!nearest && name.size() > 1 && candidate.starts_with(name))
      nearest = candidate;  // --int for --interface
  }
  return "unknown option " + quoted(option_name) +
         (nearest ? ": did you mean --" + std::string(*nearest) + "?" : ", see headgated --help");
}

std::string explain_syntax(const options::error_with_option_name& error) {
  const std::string name = strip_dashes(error.get_option_name());
  const Option* option = find_option(name);
  if (option == nullptr) return std::string(error.what()) + ", see headgated --help";
  if (option->example.empty()) return "--" + name + " takes no value";
  return "--" + name + " needs a value, such as --" + name + " " + std::string(option->example);
}

std::string explain_argument(const std::string& argument) {
  const bool looks_like_file = argument.ends_with(".toml") || argument.find('/') != std::string::npos;
  return "unexpected argument " + quoted(argument) +
         (looks_like_file ? ": did you mean --config " + argument + "?" : ", see headgated --help");
}

// The values of each option that was given; an option without a value has an empty list.
using Given = std::map<std::string, Values, std::less<>>;

// Returns what is wrong; empty: nothing.
std::string split(const Values& arguments, Given& given) {
  options::options_description description;
  for (const Option& option : all_options()) {
    const std::string name_and_letter = option.name == "help" ? "help,h" : option.name;
    if (option.example.empty()) {
      description.add_options()(name_and_letter.c_str(), "");
    } else {
      description.add_options()(option.name.c_str(), options::value<Values>(), "");
    }
  }
  description.add_options()("argument", options::value<Values>(), "");
  options::positional_options_description positional;
  positional.add("argument", -1);
  namespace style = options::command_line_style;
  const int without_guessing = style::unix_style & ~style::allow_guessing;
  try {
    const auto parsed = options::command_line_parser(arguments)
                            .options(description)
                            .positional(positional)
                            .style(without_guessing)
                            .run();
    for (const auto& option : parsed.options) {
      if (option.string_key == "argument") return explain_argument(option.value.front());
      if (!option.value.empty() && option.value.front().starts_with("--")) {
        return "--" + option.string_key + " needs a value, but " + quoted(option.value.front()) +
               " follows it";
      }
      Values& values = given[option.string_key];
      values.insert(values.end(), option.value.begin(), option.value.end());
    }
  } catch (const options::unknown_option& error) {
    return explain_unknown(error.get_option_name());
  } catch (const options::error_with_option_name& error) {
    return explain_syntax(error);
  } catch (const options::error& error) {
    return std::string(error.what()) + ", see headgated --help";
  }
  return {};
}

class CommandLineReader {
 public:
  CommandLineReader(const Given& given, CompiledMatches& matches, CommandLineResult& result)
      : given_(given), matches_(matches), result_(result) {}

  void read() {
    check_repetitions();
    read_action();
    if (!has("help") && !has("version")) {
      read_overrides();
      read_sources();
    }
    hand_over();
  }

 private:
  bool has(std::string_view name) const { return given_.contains(name); }

  const Values& values(std::string_view name) const {
    static const Values kNone;
    const auto found = given_.find(name);
    return found == given_.end() ? kNone : found->second;
  }

  std::string value(std::string_view name) const {
    const Values& all = values(name);
    return all.empty() ? std::string() : all.front();
  }

  void refuse_line(std::string message) { findings_.add_error({}, std::move(message)); }

  // What was found, without places.
  void hand_over() {
    ConfigResult found;
    findings_.hand_over(found);
    for (ConfigError& error : found.errors) result_.errors.push_back(std::move(error.message));
    for (ConfigWarning& warning : found.warnings) result_.warnings.push_back(std::move(warning.message));
  }

  template <typename Key, typename Draft>
  void read_key(const Key& key, Draft& draft) {
    if (!key.option) return;
    const std::string name = option_name(key.name);
    key.read(Said(name, values(name), findings_), draft);
  }

  void check_repetitions() {
    for (const auto& [name, values] : given_) {
      const Option* option = find_option(name);
      if (option == nullptr || option->repeats || values.size() < 2) continue;
      refuse_line("--" + name + " is given twice, expected at most once" +
                  (name == "interface"
                       ? "; to shape several interfaces, write a file and give it with --config"
                       : ""));
    }
  }

  void read_action() {
    using Action = CommandLine::Action;
    if (has("check") && has("cleanup"))
      refuse_line("--check and --cleanup exclude each other, expected one of the two");
    if (has("cleanup") && has("interface")) {
      refuse_line("--cleanup and --interface exclude each other: what was left is found on all interfaces");
    }
    Action& action = result_.command_line.action;
    if (has("check")) action = Action::check;
    if (has("cleanup")) action = Action::cleanup;
    if (has("version")) action = Action::show_version;
    if (has("help")) action = Action::show_help;
  }

  void read_overrides() {
    CommandLine& line = result_.command_line;
    for (const DaemonKey& key : daemon_keys()) {
      if (!has(option_name(key.name))) continue;
      read_key(key, line.said);
      line.said_keys.push_back(&key);
    }
  }

  // Where the configuration comes from: a file, or this command line.
  void read_sources() {
    if (has("interface") && has("config")) {
      refuse_line("--interface and --config exclude each other: the file names its own interfaces");
      return;
    }
    for (const Option& option : all_options()) {
      if (!option.describes_shape || !has(option.name) || has("interface")) continue;
      refuse_line("--" + option.name + " describes a shape without a file and needs --interface" +
                  (has("config") ? "; with --config, write it into the file" : ", such as --interface eth0"));
    }
    if (has("interface")) read_shape();
    if (!has("config")) return;
    result_.command_line.config_path = value("config");
    if (value("config").empty()) refuse_line("--config needs the path of a file");
    if (value("config") == kStandardInput && result_.command_line.action == CommandLine::Action::run) {
      refuse_line(
          "--config: \"-\" is standard input, which only --check reads: headgated reads its file again at a "
          "reload, expected the path of a file (one that has this name is ./-)");
    }
  }

  void read_shape() {
    ShapeDraft shape;
    for (const ShapeKey& key : shape_keys()) read_key(key, shape);
    const std::size_t errors_in_keys = findings_.errors();
    add_all(settle_shape(shape));
    if (has("forward-to") && findings_.errors() == errors_in_keys) warn_of_half_wire(shape);
    const std::size_t errors_before = findings_.errors();
    shape.classes.push_back(read_class());
    add_all(check_kernel_selectors(shape, shape.classes.front()));
    if (findings_.errors() == errors_before) add_all(check_accounting(shape));
    Config config;
    config.shapes.push_back(std::move(shape));
    result_.command_line.config = std::move(config);
    result_.command_line.apply_to(*result_.command_line.config);
  }

  void add_all(const std::vector<ShapeFinding>& findings) {
    for (const ShapeFinding& finding : findings)
      findings_.add({}, "--" + option_name(finding.key), finding.reading);
  }

  void warn_of_half_wire(const ShapeConfig& shape) {
    findings_.add_warning({}, "--forward-to: nothing forwards what arrives on " + quoted(shape.forward_to) +
                                  " back to " + quoted(shape.interface) +
                                  "; for both directions, write a file with two shapes");
  }

  ClassConfig read_class() {
    NetworkLists lists;
    ClassDraft draft(lists);
    draft.name = "default";
    compile_match();
    for (const ClassKey& key : class_keys()) read_key(key, draft);
    if (!has("rate")) refuse_line("--interface needs a rate, such as --rate 1000pps or --rate 20mbit");
    return draft;
  }

  void compile_match() {
    if (is_blank(value("match"))) return;
    const CompiledMatch match = matches_.get(value("match"));
    if (!match.error.empty()) refuse_line("--match: " + match.error);
    for (const std::string& warning : match_warnings(match, false))
      findings_.add_warning({}, "--match: " + warning);
  }

  const Given& given_;
  CompiledMatches& matches_;
  CommandLineResult& result_;
  Findings findings_{""};
};

// The option and its help beside it, within the width of a terminal.
void add_help(std::string_view name, const KeyOption& option, std::string& help) {
  constexpr std::size_t kHelpColumn = 21;
  constexpr std::size_t kWidth = 80;
  std::string line = (name == "help" ? "  -h, --" : "  --") + std::string(name);
  if (option) line += " " + std::string(option.value);
  line.resize(std::max(line.size() + 1, kHelpColumn), ' ');
  bool at_start = true;
  std::string_view text = option.help;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!at_start && line.size() + 1 + word.size() > kWidth) {
      help += line + "\n";
      line.assign(kHelpColumn, ' ');
      at_start = true;
    }
    if (!at_start) line += ' ';
    line += word;
    at_start = false;
  }
  help += line + "\n";
}

template <typename Key, typename Which>
void add_help(std::span<const Key> keys, Which which, std::string& help) {
  for (const Key& key : keys)
    if (key.option && which(key)) add_help(option_name(key.name), key.option, help);
}

}  // namespace

void CommandLine::apply_to(Config& from_file) const {
  for (const DaemonKey* key : said_keys) key->fixed.keep(said, from_file.daemon);
}

CommandLineResult parse_command_line(const std::vector<std::string>& arguments) {
  CompiledMatches matches;
  return parse_command_line(arguments, matches);
}

CommandLineResult parse_command_line(const std::vector<std::string>& arguments, CompiledMatches& matches) {
  CommandLineResult result;
  Given given;
  if (std::string error = split(arguments, given); !error.empty()) {
    result.errors.push_back(std::move(error));
    return result;
  }
  CommandLineReader(given, matches, result).read();
  return result;
}

std::string command_line_help() {
  std::string help = R"(Usage: headgated [--config FILE] [--control PATH] [--divert METHOD]
       headgated --interface NAME --rate RATE [--key KEY] [--queue CAPACITY] ...
       headgated --check [--config FILE]
       headgated --cleanup

Holds what leaves a network interface, or arrives on it, to a rate, each flow
by its own leaky bucket. Runs in the foreground and logs to standard error.

)";
  for (const PlainOption& one : kSources) add_help(one.name, one.option, help);
  add_help(
      daemon_keys(), [](const DaemonKey&) { return true; }, help);
  for (const PlainOption& one : kInformation) add_help(one.name, one.option, help);
  help += "\nWithout a file, one interface with one class:\n\n";
  add_help(
      shape_keys(), [](const ShapeKey& key) { return key.required; }, help);
  add_help(
      class_keys(), [](const ClassKey& key) { return key.shaping; }, help);
  add_help(
      class_keys(), [](const ClassKey& key) { return !key.shaping; }, help);
  add_help(
      shape_keys(), [](const ShapeKey& key) { return !key.required; }, help);
  help += R"(
Examples:
  headgated --check --config new.toml
  headgated --interface eth0 --rate 1000pps --key dst
  headgated --interface eth0 --rate 20mbit --queue 50ms --match "net 10.0.0.0/8"
  headgated --interface eth0 --direction ingress --rate 1000pps --key src
  headgated --interface "veth*" --rate 20mbit

Exit codes: 0 done, 1 command line or configuration, 2 refused by the kernel,
4 not permitted. See headgated(8) and headgate.toml(5).
)";
  return help;
}

}  // namespace headgate
