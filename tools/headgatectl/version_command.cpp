// headgatectl version: of the program and of the daemon.
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "show_screen.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

int version(const Invocation& invocation) {
  Json json = {{"schema", kSchema}, {"headgatectl", HEADGATE_VERSION}};
  if (!invocation.json) print("headgatectl " HEADGATE_VERSION "\n");
  const Json reply = ask_daemon(invocation.control, {{"command", "version"}});
  if (invocation.json) {
    json["headgated"] = reply["version"];
    for (const char* member : {"pid", "uptime_s", "config"}) json[member] = reply[member];
    print_json(json);
  } else {
    print(visible(daemon_line(reply)) + "\n");
  }
  return kExitOk;
}

}  // namespace

Command version_command() {
  return {
      .name = "version",
      .summary = "of headgatectl and of the headgated that runs",
      .details = "The versions of headgatectl and of the headgated that runs, with its process and uptime.",
      .examples = {"headgatectl version"},
      .run = version,
  };
}

}  // namespace headgate
