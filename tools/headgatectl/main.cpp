// headgatectl: shows and changes a running headgated. See headgatectl(1).
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "control_client.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "standard_descriptors.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

constexpr char kHelp[] =
    R"(headgatectl shows and changes a running headgated.

Usage: headgatectl [--control PATH] [-j] [COMMAND]

Commands:
  show [-b] [-w [SECONDS]]      each shaped interface with its classes (what no command means)
  flows [CLASS] [-n N] [-w [SECONDS]]
                                the largest flows, with their rates measured over a second
  capture CLASS -w FILE [--received] [--sent] [--dropped] [-c N]
                                write what the class receives, sends and drops as a trace
  reload                        apply the configuration file again, all or nothing
  check FILE                    validate a configuration file; needs no daemon
  version                       of headgatectl and of the headgated that runs

A CLASS is eth0/egress/dns, or dns where that is unique.

Options:
  -j, --json            print JSON with a "schema" member
  -b, --bytes           count bytes instead of packets
  -n, --limit N         show N flows, 20 unless given
  -w, --watch[=SECONDS] again and again, each second unless given, until interrupted
  -w, --write FILE      the trace of capture, in pcapng; - is standard output
  -c, --count N         end after N packets
      --received, --sent, --dropped
                        only these events
      --control PATH    control socket, /run/headgate/control.sock unless given
      --version         print the version of headgatectl
  -h, --help            print this

Examples:
  headgatectl
  headgatectl show --watch
  headgatectl flows eth0/egress/clients -n 10
  headgatectl capture clients --dropped -w - | tcpdump -nr -
  headgatectl check /etc/headgate/headgate.toml && headgatectl reload
  headgatectl -j show | jq '.shapes[].classes[] | {name, dropped: .dropped.packets}'

Exit codes: 0 done, 1 wrong usage or configuration, 2 refused, 3 headgated is not running, 4 not permitted.
)";

void report(const ControlError& error, bool json) {
  print_error(std::string("headgatectl: ") + error.what());
  for (const std::string& detail : error.details) print_error("  " + visible(detail));
  if (!json) return;
  nlohmann::ordered_json object = {{"code", error.code}, {"message", error.what()}};
  if (!error.details.empty()) object["details"] = error.details;
  print_json({{"schema", kSchema}, {"error", object}});
}

int run(const std::vector<std::string>& arguments) {
  const Invocation invocation = parse_invocation(arguments, subcommands());
  if (invocation.help) {
    print(kHelp);
    return kExitOk;
  }
  if (invocation.version) {
    print("headgatectl " HEADGATE_VERSION "\n");
    return kExitOk;
  }
  try {
    return invocation.command->run(invocation);
  } catch (const ControlError& error) {
    report(error, invocation.json);
    return error.exit;
  } catch (const nlohmann::json::exception&) {
    report({kExitRefused, "system", "the reply of headgated lacks a part: install the same version of both"},
           invocation.json);
    return kExitRefused;
  }
}

}  // namespace
}  // namespace headgate

int main(int count, char** arguments) {
  headgate::open_standard_descriptors();
  try {
    return headgate::run({arguments + (count > 0 ? 1 : 0), arguments + count});
  } catch (const headgate::UsageError& error) {
    headgate::print_error(std::string("headgatectl: ") + error.what() + "\nTry: headgatectl --help");
    return headgate::kExitUsage;
  } catch (const headgate::OutputClosed&) {
    return headgate::kExitOk;
  } catch (const std::exception& error) {
    headgate::print_error(std::string("headgatectl: ") + error.what());
    return headgate::kExitRefused;
  }
}
