// headgatectl: shows and changes a running headgated. See headgatectl(1).
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "control_client.hpp"
#include "help_text.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "standard_descriptors.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

void report(const ControlError& error, bool json) {
  print_error(std::string("headgatectl: ") + error.what());
  for (const std::string& detail : error.details) print_error("  " + visible(detail));
  if (!json) return;
  nlohmann::ordered_json object = {{"code", error.code}, {"message", error.what()}};
  if (!error.details.empty()) object["details"] = error.details;
  print_json({{"schema", kSchema}, {"error", object}});
}

int run(const std::vector<std::string>& arguments) {
  const Invocation invocation = parse_invocation(arguments, commands());
  if (invocation.help) {
    print(invocation.command ? help_of(*invocation.command) : general_help(commands()));
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
