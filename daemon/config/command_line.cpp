#include "config/command_line.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <map>
#include <string_view>
#include <utility>

#include "config/characters.hpp"
#include "config/choices.hpp"
#include "config/control_limit_grammar.hpp"
#include "config/dscp_grammar.hpp"
#include "config/file_text.hpp"
#include "config/key_grammar.hpp"
#include "config/link_layer.hpp"
#include "config/match_check.hpp"
#include "config/names.hpp"
#include "config/network_lists.hpp"
#include "config/quantity.hpp"
#include "config/reading.hpp"
#include "config/shape_rules.hpp"
#include "config/suggestion.hpp"
#include "config/worker_count.hpp"

namespace headgate {
namespace {

namespace options = boost::program_options;
using Values = std::vector<std::string>;

struct Option {
  std::string_view name;
  std::string_view example;      // of its value; empty: it takes none
  bool repeats = false;          // several values make a list, as in the file
  bool describes_shape = false;  // a companion of --interface
};

constexpr std::array kOptions = {
    Option{"config", "/etc/headgate/headgate.toml"},
    Option{"check", {}},
    Option{"cleanup", {}},
    Option{"control", "/run/headgate/control.sock"},
    Option{"divert", "tcx"},
    Option{"interface", "eth0", false, true},
    Option{"direction", "ingress", false, true},
    Option{"forward-to", "eth1", false, true},
    Option{"segmentation", "whole", false, true},
    Option{"capture", "pcap", false, true},
    Option{"precision", "high", false, true},
    Option{"workers", "2", false, true},
    Option{"overhead", "24", false, true},
    Option{"mpu", "84", false, true},
    Option{"control-limit", "1000pps", true, true},
    Option{"match", "\"udp port 53\"", false, true},
    Option{"dscp", "ef", true, true},
    Option{"src", "10.0.0.0/8", true, true},
    Option{"dst", "10.0.0.0/8", true, true},
    Option{"key", "dst", true, true},
    Option{"rate", "1000pps", true, true},
    Option{"burst", "10p", true, true},
    Option{"queue", "100p", true, true},
    Option{"version", {}},
    Option{"help", {}},
};

const Option* find_option(std::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string strip_dashes(std::string name) {
  return name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
}

std::string explain_unknown(const std::string& option_name) {
  std::vector<std::string_view> names;
  names.reserve(kOptions.size());
  for (const Option& option : kOptions) names.push_back(option.name);
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
  for (const Option& option : kOptions) {
    const std::string name(option.name);
    const std::string name_and_letter = name == "help" ? "help,h" : name;
    if (option.example.empty()) {
      description.add_options()(name_and_letter.c_str(), "");
    } else {
      description.add_options()(name.c_str(), options::value<Values>(), "");
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
    if (has("help") || has("version")) return;
    read_overrides();
    read_sources();
  }

 private:
  bool has(std::string_view name) const { return given_.contains(name); }

  std::string value(std::string_view name) const {
    const auto found = given_.find(name);
    return found == given_.end() || found->second.empty() ? std::string() : found->second.front();
  }

  void refuse_line(std::string message) { result_.errors.push_back(std::move(message)); }

  bool take(std::string_view name, Reading reading) {
    const std::string subject = "--" + std::string(name) + ": ";
    if (!reading.warning.empty()) result_.warnings.push_back(subject + reading.warning);
    if (!reading.ok()) refuse_line(subject + reading.error);
    return reading.ok();
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
    if (has("control")) {
      const std::string path = value("control");
      if (take("control", check_control_path(path))) line.control = path;
    }
    if (has("divert")) {
      DivertMethod method{};
      if (take("divert", read_divert(value("divert"), method))) line.divert = method;
    }
  }

  // Where the configuration comes from: a file, or this command line.
  void read_sources() {
    if (has("interface") && has("config")) {
      refuse_line("--interface and --config exclude each other: the file names its own interfaces");
      return;
    }
    for (const Option& option : kOptions) {
      if (!option.describes_shape || !has(option.name) || has("interface")) continue;
      refuse_line("--" + std::string(option.name) +
                  " describes a shape without a file and needs --interface" +
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
    ShapeConfig shape;
    shape.interface = value("interface");
    take("interface", check_interface_name(shape.interface));
    read_traffic(shape);
    const std::size_t errors_before = result_.errors.size();
    shape.classes.push_back(read_class());
    if (result_.errors.size() == errors_before) take_all(check_accounting(shape));
    Config config;
    config.shapes.push_back(std::move(shape));
    result_.command_line.config = std::move(config);
    result_.command_line.apply_to(*result_.command_line.config);
  }

  void read_traffic(ShapeConfig& shape) {
    std::optional<Direction> direction;
    if (has("direction") && take("direction", read_direction(value("direction"), shape.direction)))
      direction = shape.direction;
    if (has("forward-to")) {
      shape.forward_to = value("forward-to");
      take("forward-to", check_interface_name(shape.forward_to));
    }
    if (has("segmentation"))
      take("segmentation", read_segmentation(value("segmentation"), shape.segmentation));
    if (has("capture")) take("capture", read_capture(value("capture"), shape.capture));
    if (has("precision")) take("precision", read_precision(value("precision"), shape.precision));
    if (has("workers")) take("workers", read_workers(value("workers"), shape.workers));
    if (has("overhead")) take("overhead", read_overhead(value("overhead"), shape));
    if (has("mpu")) take("mpu", read_mpu(value("mpu"), shape));
    if (has("control-limit")) {
      ControlLimitReader limit;
      for_each("control-limit", [&limit](const std::string& text) { return limit.add(text); });
      shape.control_limit = limit.limit();
    }
    const std::size_t errors_before = result_.errors.size();
    take_all(settle_shape(shape, direction));
    if (has("forward-to") && result_.errors.size() == errors_before) warn_of_half_wire(shape);
  }

  // Options are named as the keys of the file, but for the hyphens.
  void take_all(const std::vector<ShapeFinding>& findings) {
    for (const ShapeFinding& finding : findings) {
      std::string name(finding.key);
      std::replace(name.begin(), name.end(), '_', '-');
      take(name, finding.reading);
    }
  }

  void warn_of_half_wire(const ShapeConfig& shape) {
    result_.warnings.push_back("--forward-to: nothing forwards what arrives on " + quoted(shape.forward_to) +
                               " back to " + quoted(shape.interface) +
                               "; for both directions, write a file with two shapes");
  }

  ClassConfig read_class() {
    ClassConfig config;
    config.name = "default";
    if (has("match")) read_match(config);
    read_selectors(config.selectors);
    KeyReader key;
    for_each("key", [&](const std::string& text) { return key.add(text); });
    config.key = key.key();
    if (!has("rate")) refuse_line("--interface needs a rate, such as --rate 1000pps or --rate 20mbit");
    bool readable = has("rate");
    readable &= for_each("rate", [&](const std::string& text) { return read_rate(text, config.rate); });
    readable &= for_each("burst", [&](const std::string& text) { return read_burst(text, config.burst); });
    if (readable) take("burst", settle_burst(config.burst, config.rate));
    for_each("queue", [&](const std::string& text) { return read_queue(text, config.queue); });
    if (!has("queue")) config.queue.packets = kDefaultQueuePackets;
    return config;
  }

  void read_match(ClassConfig& config) {
    config.match = value("match");
    if (is_blank(config.match)) {
      refuse_line("--match: the expression is empty; leave --match out to take every packet");
      return;
    }
    const CompiledMatch match = matches_.get(config.match);
    if (!match.error.empty()) refuse_line("--match: " + match.error);
    for (const std::string& warning : match_warnings(match, false))
      result_.warnings.push_back("--match: " + warning);
  }

  void read_selectors(Selectors& selectors) {
    for_each("dscp", [&](const std::string& text) { return read_dscp(text, selectors.dscp); });
    NetworkLists lists;
    read_networks("src", lists, selectors.source);
    read_networks("dst", lists, selectors.destination);
  }

  void read_networks(std::string_view name, NetworkLists& lists, NetworkSelector& selector) {
    if (!has(name)) return;
    NetworkListReader list(lists);
    if (for_each(name, [&](const std::string& text) { return list.add(text); }))
      take(name, list.settle(selector.networks));
  }

  // True when all values were read.
  template <typename Read>
  bool for_each(std::string_view name, Read read) {
    bool all_read = true;
    const auto found = given_.find(name);
    if (found == given_.end()) return true;
    for (const std::string& text : found->second) all_read &= take(name, read(text));
    return all_read;
  }

  const Given& given_;
  CompiledMatches& matches_;
  CommandLineResult& result_;
};

}  // namespace

void CommandLine::apply_to(Config& from_file) const {
  if (control) from_file.daemon.control = *control;
  if (divert) from_file.daemon.divert = *divert;
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
  return R"(Usage: headgated [--config FILE] [--control PATH] [--divert METHOD]
       headgated --interface NAME --rate RATE [--key KEY] [--queue CAPACITY] ...
       headgated --check [--config FILE]
       headgated --cleanup

Holds what leaves a network interface, or arrives on it, to a rate, each flow
by its own leaky bucket. Runs in the foreground and logs to standard error.

  --config FILE      the configuration (/etc/headgate/headgate.toml)
  --check            read the configuration, say what is wrong with it, and end;
                     here FILE may be a pipe, and - is standard input
  --cleanup          remove what a dead headgated left behind, and end
  --control PATH     the control socket (/run/headgate/control.sock)
  --divert METHOD    how packets are taken out of the kernel: auto, tcx, clsact
  --version          print the version, and end
  -h, --help         print this help, and end

Without a file, one interface with one class:

  --interface NAME   the interface, an Ethernet one such as eth0
  --rate RATE        of each bucket: packets 1000pps, bits 20mbit; both: give
                     --rate twice
  --key KEY          one bucket per: class (the default), src, dst, src-dst,
                     5-tuple, src-mac, dst-mac, vlan; prefixes as in dst/24,64;
                     parts that go together: give --key several times
  --burst BURST      what may leave at once after idle: 10p, 15kb (1p)
  --queue CAPACITY   what a bucket holds: 100p, 64kb, 50ms; all that are given
                     hold (100p)
  --match EXPRESSION which packets, as in pcap-filter(7) (all)
  --dscp DSCP        which packets: ef, af41, 46; several: give it several times
  --src, --dst NET   which packets, by address: 10.0.0.0/8, or /PATH of a file
                     of networks; several: give it several times
  --direction WHICH  egress: what leaves the interface (the default); ingress:
                     what arrives, before the host sees it
  --forward-to NAME  inline: what arrives on the interface leaves by this one
                     instead of going to the host, whatever its address
  --segmentation HOW precise: super-packets are cut before they are queued (the
                     default); auto: they are cut as far as the rate asks for;
                     whole: they pass as they are
  --capture METHOD   ring (the default), or pcap where that cannot serve
  --precision HOW    normal (the default), or high: departures exact to some us,
                     for up to most of a core while packets wait
  --workers N        threads that share the flows, 1 to 64 (1)
  --overhead BYTES   what each packet costs beyond its frame, -64 to 256 (0)
  --mpu BYTES        what a packet costs at least, 0 to 256 (0)
  --control-limit R  how much control traffic goes on unshaped, as for --rate:
                     packets, bits, or both; none: all (1000pps and 1mbit)

Examples:
  headgated --check --config new.toml
  headgated --interface eth0 --rate 1000pps --key dst
  headgated --interface eth0 --rate 20mbit --queue 50ms --match "net 10.0.0.0/8"
  headgated --interface eth0 --direction ingress --rate 1000pps --key src

Exit codes: 0 done, 1 command line or configuration, 2 refused by the kernel,
4 not permitted. See headgated(8) and headgate.toml(5).
)";
}

}  // namespace headgate
