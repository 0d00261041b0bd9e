// headgatectl diff: the files against what is in force.
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "control_client.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

std::string value_text(const Json& value) {
  return value.is_null() ? "nothing" : value.dump();
}

std::string line_of(const Json& difference) {
  const std::string why =
      difference.at("why").is_null() ? "" : " (" + difference["why"].get<std::string>() + ")";
  const std::string where = difference.at("where");
  if (difference.at("key").is_null())
    return where + ": " + (difference.at("in_force").is_null() ? "in the files only" : "in force only") + why;
  return where + ": " + difference["key"].get<std::string>() + ": " + value_text(difference.at("in_files")) +
         " in the files, " + value_text(difference.at("in_force")) + " in force" + why;
}

int diff(const Invocation& invocation) {
  const Json reply = ask_daemon(invocation.control, {{"command", "diff"}}, kReloadPatience);
  if (invocation.json) {
    print_json(reply);
    return kExitOk;
  }
  const Json& differences = reply.at("differences");
  if (differences.empty()) print("the files say what is in force\n");
  for (const Json& difference : differences) print(visible(line_of(difference)) + "\n");
  return kExitOk;
}

}  // namespace

Command diff_command() {
  return {
      .name = "diff",
      .summary = "what is in force and the files do not say, and the reverse",
      .details =
          "Reads the files as they are now, without putting them in force, and prints each key whose value\n"
          "in force is another: because the files were changed, or because of what was set at run time.",
      .examples = {"headgatectl diff"},
      .run = diff,
  };
}

}  // namespace headgate
