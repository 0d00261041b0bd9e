#include "commands.hpp"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "capture_command.hpp"
#include "check_command.hpp"
#include "control_client.hpp"
#include "flows_screen.hpp"
#include "help_text.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "plan_command.hpp"
#include "show_screen.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kFlowsInterval =
    std::chrono::seconds(1);  // between the first two looks, which give a rate

void print_json(const Json& json, const Invocation& invocation) {
  print_json(json, invocation.watch ? JsonLayout::one_line : JsonLayout::readable);
}

// Puts one screen in the place of the last.
void print_screen(const std::string& screen, const Invocation& invocation) {
  const bool replaces = invocation.watch && isatty(STDOUT_FILENO) == 1;
  print(replaces ? "\033[H\033[2J" + screen : screen);
}

// Calls `look` again and again. A daemon that is gone for a while, as at a restart, does not end the
// watching.
template <typename Look>
int watch(const Invocation& invocation, const Look& look) {
  look();
  while (invocation.watch) {
    std::this_thread::sleep_for(*invocation.watch);
    try {
      look();
    } catch (const ControlError& error) {
      if (invocation.json || error.exit != kExitNotRunning) throw;
      print_screen(visible_lines(error.what()) + "\n", invocation);
    }
  }
  return kExitOk;
}

int show(const Invocation& invocation) {
  const ScreenStyle style = ScreenStyle::detect();
  Json previous;
  return watch(invocation, [&] {
    Json request = {{"command", "show"}};
    if (!invocation.json && !invocation.all) request["instances"] = false;
    Json reply = ask_daemon(invocation.control, request);
    if (invocation.json) {
      print_json(reply, invocation);
    } else {
      print_screen(show_screen(reply, previous, {.bytes = invocation.bytes, .all = invocation.all}, style),
                   invocation);
    }
    previous = std::move(reply);
  });
}

// More flows than are shown, so that most that are among the largest later are known from now.
Json ask_flows(const Invocation& invocation) {
  Json request = {{"command", "flows"}, {"limit", std::min(2 * invocation.limit + 100, kMaxFlowLimit)}};
  if (!invocation.argument.empty()) request["class"] = invocation.argument;
  return ask_daemon(invocation.control, request);
}

int flows(const Invocation& invocation) {
  const ScreenStyle style = ScreenStyle::detect();
  Json previous = ask_flows(invocation);
  std::this_thread::sleep_for(kFlowsInterval);
  return watch(invocation, [&] {
    Json reply = ask_flows(invocation);
    const Json rated = with_rates(previous, reply, invocation.limit);
    if (invocation.json) {
      print_json(rated, invocation);
    } else {
      print_screen(flows_screen(rated, style), invocation);
    }
    previous = std::move(reply);
  });
}

int reload(const Invocation& invocation) {
  const Json reply = ask_daemon(invocation.control, {{"command", "reload"}}, kReloadPatience);
  if (invocation.json) {
    print_json(reply, invocation);
    return kExitOk;
  }
  print("reloaded\n");
  for (const Json& message : reply["messages"]) print("  " + visible(message.get<std::string>()) + "\n");
  return kExitOk;
}

int version(const Invocation& invocation) {
  Json json = {{"schema", kSchema}, {"headgatectl", HEADGATE_VERSION}};
  if (!invocation.json) print("headgatectl " HEADGATE_VERSION "\n");
  const Json reply = ask_daemon(invocation.control, {{"command", "version"}});
  if (invocation.json) {
    json["headgated"] = reply["version"];
    for (const char* member : {"pid", "uptime_s", "config"}) json[member] = reply[member];
    print_json(json, invocation);
  } else {
    print(visible(daemon_line(reply)) + "\n");
  }
  return kExitOk;
}

int help(const Invocation& invocation) {
  print(invocation.argument.empty() ? general_help(subcommands())
                                    : help_of(find_subcommand(invocation.argument, subcommands())));
  return kExitOk;
}

constexpr Subcommand kSubcommands[] = {
    {.name = "show",
     .options = {"bytes", "all", "watch"},
     .summary = "each shaped interface with its classes",
     .details =
         "Each shaped interface, whether its packets are being diverted, and its classes with what they\n"
         "received, sent, dropped and have queued. The interfaces that match a pattern stand together, with\n"
         "what all of them counted, those that are gone included; --all shows each of them, too.",
     .examples = {"headgatectl show --all", "headgatectl show --watch",
                  "headgatectl -j show | jq '.shapes[].classes[] | {name, dropped: .dropped.packets}'"},
     .run = show},
    {.name = "flows",
     .argument = "CLASS",
     .options = {"limit", "watch"},
     .summary = "the largest flows, with their rates measured over a second",
     .details =
         "The flows of a class, largest first by packets sent, dropped and queued; without CLASS the\n"
         "largest of all classes, if there are no more than 16. A CLASS is eth0/egress/dns, or dns where\n"
         "that is unique; veth*/egress/dns is that of all interfaces that match. It looks twice, a second\n"
         "apart, to tell the rate of each flow now.",
     .examples = {"headgatectl flows eth0/egress/clients -n 10", "headgatectl flows clients --watch=5"},
     .run = flows},
    {.name = "plan",
     .argument = "CLASS",
     .argument_required = true,
     .further = "{MEMBER PLAN | -}",
     .most_words = 2,
     .summary = "give an address or network the rate of a plan",
     .details =
         "Makes MEMBER, an address or a network, a member of a plan of the class, or with the PLAN none of\n"
         "no plan. Each key of its addresses has the plan's rate from its next packet on. Of several\n"
         "networks that have an address the smallest says which plan it has. A reload keeps the change as\n"
         "long as the file says of the member what it said then. With - it reads lines \"MEMBER PLAN\" from\n"
         "standard input, where # begins a comment, and sends all over one connection. A line that is\n"
         "refused is named, and the rest goes on.",
     .examples = {"headgatectl plan customers 10.0.0.5 gold", "headgatectl plan customers 10.0.0.5 none",
                  "headgatectl plan eth0/egress/customers - < members"},
     .run = plan},
    {.name = "capture",
     .argument = "CLASS",
     .argument_required = true,
     .options = {"write", "received", "sent", "dropped", "count"},
     .needed_option = "write",
     .needed = "-w FILE; -w - is standard output",
     .summary = "write what the class receives, sends and drops as a trace",
     .details =
         "What the class receives, sends and drops, as a pcapng trace that tcpdump and Wireshark read,\n"
         "until interrupted. A CLASS is eth0/egress/dns, or dns where that is unique.",
     .examples = {"headgatectl capture clients --dropped -w - | tcpdump -nr -",
                  "headgatectl capture clients -w clients.pcapng -c 1000"},
     .run = capture},
    {.name = "reload",
     .summary = "apply the configuration file again, all or nothing",
     .details =
         "Reads the configuration file again and puts it in force, all or nothing. When the file has an\n"
         "error, or the kernel refuses a part, everything stays as it was and the reasons are printed.",
     .examples = {"headgatectl reload"},
     .run = reload},
    {.name = "check",
     .argument = "FILE",
     .argument_required = true,
     .summary = "validate a configuration file; needs no daemon",
     .details =
         "Validates a configuration file and prints everything that is wrong with it, each with file, line\n"
         "and column. Needs no headgated and no privileges.",
     .examples = {"headgatectl check /etc/headgate/headgate.toml && headgatectl reload"},
     .run = check},
    {.name = "version",
     .summary = "of headgatectl and of the headgated that runs",
     .details = "The versions of headgatectl and of the headgated that runs, with its process and uptime.",
     .examples = {"headgatectl version"},
     .run = version},
    {.name = "help",
     .argument = "COMMAND",
     .summary = "this, or what a command does, its options and examples",
     .details = "What the command does, its options and examples; as headgatectl COMMAND --help.",
     .examples = {"headgatectl help capture"},
     .run = help},
};

}  // namespace

std::span<const Subcommand> subcommands() {
  return kSubcommands;
}

}  // namespace headgate
