// headgatectl reload: the configuration file again, all or nothing.
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

int reload(const Invocation& invocation) {
  const auto reply = ask_daemon(invocation.control, {{"command", "reload"}}, kReloadPatience);
  if (invocation.json) {
    print_json(reply);
    return kExitOk;
  }
  print("reloaded\n");
  for (const auto& message : reply["messages"]) print("  " + visible(message.get<std::string>()) + "\n");
  return kExitOk;
}

}  // namespace

Command reload_command() {
  return {
      .name = "reload",
      .summary = "apply the configuration file again, all or nothing",
      .details =
          "Reads the configuration file again and puts it in force, all or nothing. When the file has an\n"
          "error, or the kernel refuses a part, everything stays as it was and the reasons are printed.",
      .examples = {"headgatectl reload"},
      .run = reload,
  };
}

}  // namespace headgate
