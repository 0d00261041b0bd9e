#include "exporter_options.hpp"

#include <boost/program_options.hpp>
#include <span>
#include <string_view>

#include "config/suggestion.hpp"

namespace headgate {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kOptionNames[] = {"--listen", "--control", "--flows", "--version", "--help"};

po::options_description description() {
  po::options_description options;
  auto add = options.add_options();
  add("listen", po::value<std::string>());
  add("control", po::value<std::string>());
  for (const char* flag : {"flows", "version", "help,h"}) add(flag, "");
  return options;
}

std::string in_quotes(const std::string& text) {
  return "\"" + text + "\"";
}

[[noreturn]] void refuse(const po::error_with_option_name& error) {
  const std::string option = error.get_option_name();
  if (dynamic_cast<const po::unknown_option*>(&error) != nullptr)
    throw ExporterUsageError("unknown option " + in_quotes(option) + ", " + suggest(option, kOptionNames));
  if (dynamic_cast<const po::multiple_occurrences*>(&error) != nullptr)
    throw ExporterUsageError("option " + in_quotes(option) + " is given twice");
  if (const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
      syntax != nullptr && syntax->kind() == po::invalid_syntax::extra_parameter)
    throw ExporterUsageError("option " + in_quotes(option) + " takes no value");
  throw ExporterUsageError("option " + in_quotes(option) +
                           (option == "--listen" ? " needs an ADDRESS:PORT" : " needs a PATH"));
}

po::variables_map read(const std::vector<std::string>& arguments) {
  constexpr int kStyle = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  const po::options_description options = description();
  po::variables_map values;
  try {
    const auto parsed =
        po::command_line_parser(arguments).options(options).style(kStyle).positional({}).run();
    po::store(parsed, values);
  } catch (const po::too_many_positional_options_error&) {
    throw ExporterUsageError("takes no words, only options");
  } catch (const po::error_with_option_name& error) {
    refuse(error);
  } catch (const po::error& error) {
    throw ExporterUsageError(error.what());
  }
  return values;
}

}  // namespace

ExporterOptions parse_exporter_options(const std::vector<std::string>& arguments) {
  const po::variables_map values = read(arguments);
  ExporterOptions options;
  options.help = values.count("help") > 0;
  options.version = values.count("version") > 0;
  options.flows = values.count("flows") > 0;
  if (values.count("control") > 0) options.control = values["control"].as<std::string>();
  if (options.control.empty()) throw ExporterUsageError("option \"--control\" needs a PATH");
  if (values.count("listen") == 0) return options;
  try {
    options.listen = parse_listen_address(values["listen"].as<std::string>());
  } catch (const std::invalid_argument& error) {
    throw ExporterUsageError(std::string("--listen ") + error.what());
  }
  return options;
}

std::string exporter_help() {
  return "Usage: headgate-exporter [--listen ADDRESS:PORT] [--control PATH] [--flows]\n"
         "\n"
         "Serves the counters of headgated over HTTP: /metrics for Prometheus, / as a live page.\n"
         "\n"
         "  --listen ADDRESS:PORT  where to listen (127.0.0.1:9469); IPv6 as in [::1]:9469\n"
         "  --control PATH         control socket of headgated (/run/headgate/control.sock)\n"
         "  --flows                also serve the largest flows, with their addresses, and what classes "
         "match\n"
         "  --version              print the version, and end\n"
         "  -h, --help             print this help, and end\n"
         "\n"
         "Examples:\n"
         "  headgate-exporter\n"
         "  headgate-exporter --listen [::1]:9469 --flows\n"
         "  curl http://127.0.0.1:9469/metrics\n";
}

}  // namespace headgate
