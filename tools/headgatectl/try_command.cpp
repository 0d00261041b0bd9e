// headgatectl try and confirm: a configuration that goes back by itself unless somebody can still say that it is right.
#include <chrono>
#include <nlohmann/json.hpp>

#include "change_reply.hpp"
#include "commands.hpp"
#include "config/file_text.hpp"
#include "config/quantity_text.hpp"
#include "control_client.hpp"
#include "option_value.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

int try_file(const Invocation& invocation) {
  const std::string path = invocation.operand("FILE");
  std::string text;
  if (const std::string problem = read_file_text(path, FileUse::once, text); !problem.empty())
    throw UsageError(path + ": " + problem);
  const Duration time = *invocation.value<Duration>("confirm");
  const Json request = {{"command", "try"},
                        {"file", path == kStandardInput ? "standard input" : path},
                        {"bytes", text.size()},
                        {"confirm_s", seconds_of(time)}};
  const Json reply = ask_daemon(invocation.control, request, text);
  print_change(invocation, reply,
               path + " is in force for " + std::string(to_text(time)) +
                   ": keep it with headgatectl confirm, or end it with headgatectl undo");
  return kExitOk;
}

int confirm(const Invocation& invocation) {
  return change(invocation, {{"command", "confirm"}}, "confirmed");
}

}  // namespace

Command try_command() {
  return {
      .name = "try",
      .operands = {{.name = "FILE", .completes = Completes::file}},
      .options = {{.name = "confirm",
                   .value = "TIME",
                   .help = "how long it waits for headgatectl confirm, at most a day: 60s, 10min",
                   .read = time_with_unit(),
                   .required = true},
                  quiet_option()},
      .summary = "put a file in force that goes back by itself",
      .details =
          "Puts FILE in force in the place of headgated's own, all or nothing, and goes back to what was in\n"
          "force before after TIME, unless headgatectl confirm comes by then: also where the change has cut\n"
          "off whoever made it. FILE is read by headgatectl, - is standard input. Drop-ins and what was set "
          "at\n"
          "run time hold over it as they do after a reload.",
      .examples = {"headgatectl try new.toml --confirm 60s && sleep 20 && headgatectl confirm"},
      .run = try_file,
  };
}

Command confirm_command() {
  return {
      .name = "confirm",
      .options = {quiet_option()},
      .summary = "keep what try has put in force",
      .details = "Keeps the file that headgatectl try has put in force, until a reload or a restart.",
      .examples = {"headgatectl confirm"},
      .run = confirm,
  };
}

}  // namespace headgate
