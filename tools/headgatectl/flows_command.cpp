// headgatectl flows: the largest flows of a class, with their rates.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "both_ways_screen.hpp"
#include "commands.hpp"
#include "control_client.hpp"
#include "flows_screen.hpp"
#include "option_value.hpp"
#include "watching.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFlowsShown = 20;                  // unless --limit says
constexpr Duration kInterval = std::chrono::seconds(1);  // between the first two looks, which give a rate

// More flows than are shown, so that most that are among the largest later are known from now.
Json ask_flows(const Invocation& invocation, std::size_t limit) {
  Json request = {{"command", "flows"}, {"limit", std::min(2 * limit + 100, kMaxFlowLimit)}};
  const std::string class_name = invocation.operand("CLASS");
  if (!class_name.empty()) request["class"] = class_name;
  if (invocation.has("both")) request["both"] = true;
  return ask_daemon(invocation.control, request);
}

int flows(const Invocation& invocation) {
  const bool both = invocation.has("both");
  if (both && invocation.operand("CLASS").empty())
    throw UsageError("--both needs a CLASS, as in headgatectl flows --both clients");
  const ScreenStyle style = ScreenStyle::detect();
  const std::size_t limit = invocation.value<std::uint64_t>("limit").value_or(kFlowsShown);
  Json previous = ask_flows(invocation, limit);
  std::this_thread::sleep_for(kInterval);
  return watch(invocation, [&] {
    Json reply = ask_flows(invocation, limit);
    const Json rated = both ? with_rates_of_both(previous, reply, limit) : with_rates(previous, reply, limit);
    if (invocation.json) {
      print_look(rated, invocation);
    } else {
      print_look(both ? both_ways_screen(rated, style) : flows_screen(rated, style), invocation);
    }
    previous = std::move(reply);
  });
}

}  // namespace

Command flows_command() {
  return {
      .name = "flows",
      .operands = {{.name = "CLASS", .occurs = Occurs::at_most_once, .completes = Completes::class_name}},
      .options = {{.letter = 'n',
                   .name = "limit",
                   .value = "N",
                   .help = "show N flows, 20 unless given",
                   .read = number_from(1, kMaxFlowLimit)},
                  {.name = "both", .help = "down and up side by side: with the class of the other way"},
                  watch_option()},
      .summary = "the largest flows, with their rates measured over a second",
      .details =
          "The flows of a class, largest first by packets sent, dropped and queued; without CLASS the\n"
          "largest of all classes, if there are no more than 16. A CLASS is eth0/egress/dns, or dns where\n"
          "that is unique; veth*/egress/dns is that of all interfaces that match. It looks twice, a second\n"
          "apart, to tell the rate of each flow now. With --both a line shows what goes to an address, or "
          "to\n"
          "a plan whose members are together, and what comes from it: CLASS is that of one direction, by\n"
          "destination or by source, and the class of the same name in the other direction goes with it.",
      .examples = {"headgatectl flows eth0/egress/clients -n 10", "headgatectl flows clients --watch=5",
                   "headgatectl flows --both clients"},
      .run = flows,
  };
}

}  // namespace headgate
