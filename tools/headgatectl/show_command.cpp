// headgatectl show: each shaped interface with its classes.
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "control_client.hpp"
#include "show_screen.hpp"
#include "watching.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

int show(const Invocation& invocation) {
  const ScreenStyle style = ScreenStyle::detect();
  const ShowOptions options{.bytes = invocation.has("bytes"), .all = invocation.has("all")};
  Json previous;
  return watch(invocation, [&] {
    Json request = {{"command", "show"}};
    if (!invocation.json && !options.all) request["instances"] = false;
    Json reply = ask_daemon(invocation.control, request);
    if (invocation.json) {
      print_look(reply, invocation);
    } else {
      print_look(show_screen(reply, previous, options, style), invocation);
    }
    previous = std::move(reply);
  });
}

}  // namespace

Command show_command() {
  return {
      .name = "show",
      .options = {{.letter = 'b', .name = "bytes", .help = "count bytes instead of packets"},
                  {.letter = 'a', .name = "all", .help = "show each interface of a pattern, too"},
                  watch_option()},
      .summary = "each shaped interface with its classes",
      .details =
          "Each shaped interface, whether its packets are being diverted, and its classes with what they\n"
          "received, sent, dropped and have queued. The interfaces that match a pattern stand together, "
          "with\n"
          "what all of them counted, those that are gone included; --all shows each of them, too.",
      .examples = {"headgatectl show --all", "headgatectl show --watch",
                   "headgatectl -j show | jq '.shapes[].classes[] | {name, dropped: .dropped.packets}'"},
      .run = show,
  };
}

}  // namespace headgate
