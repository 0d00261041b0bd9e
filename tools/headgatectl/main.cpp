// headgatectl: shows and changes a running headgated. See headgatectl(1).
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "control_client.hpp"
#include "help_text.hpp"
#include "output.hpp"

namespace headgate {
namespace {

void report(const ControlError& error, bool json) {
  std::fprintf(stderr, "headgatectl: %s\n", error.what());
  for (const std::string& detail : error.details) std::fprintf(stderr, "  %s\n", detail.c_str());
  if (!json) return;
  nlohmann::ordered_json object = {{"code", error.code}, {"message", error.what()}};
  if (!error.details.empty()) object["details"] = error.details;
  print(nlohmann::ordered_json{{"schema", kSchema}, {"error", object}}.dump(
            2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
}

int run(const std::vector<std::string>& arguments) {
  const Invocation invocation = parse_invocation(arguments, subcommands());
  if (invocation.help) {
    print(invocation.command ? help_of(*invocation.command) : general_help(subcommands()));
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
  try {
    return headgate::run({arguments + (count > 0 ? 1 : 0), arguments + count});
  } catch (const headgate::UsageError& error) {
    std::fprintf(stderr, "headgatectl: %s\nTry: headgatectl --help\n", error.what());
    return headgate::kExitUsage;
  } catch (const headgate::OutputClosed&) {
    return headgate::kExitOk;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "headgatectl: %s\n", error.what());
    return headgate::kExitRefused;
  }
}
