// headgatectl check: everything that is wrong with a configuration file. Needs no daemon.
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "config/config_file.hpp"
#include "invocation.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "visible_text.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

Json place_json(const ConfigError& error) {
  auto known = [](std::size_t place) { return place != 0 ? Json(place) : Json(); };
  return {{"file", error.file},
          {"line", known(error.line)},
          {"column", known(error.column)},
          {"message", error.message}};
}

std::string counted(std::size_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

void print_check_result(const ConfigResult& result, const std::string& file) {
  for (const ConfigWarning& warning : result.warnings) {
    print_error("headgatectl: warning: " + warning.to_string());
  }
  for (const ConfigError& error : result.errors) print_error(error.to_string());
  if (!result.ok()) return;
  std::size_t classes = 0;
  for (const ShapeConfig& shape : result.config.shapes) classes += shape.classes.size();
  print(visible(file) + " is valid: " + counted(result.config.shapes.size(), "shape", "shapes") + ", " +
        counted(classes, "class", "classes") + "\n");
}

int check(const Invocation& invocation) {
  const std::string file = invocation.operand("FILE");
  const ConfigResult result = load_config(file, FileUse::once);
  if (invocation.json) {
    Json json = {{"schema", kSchema}, {"file", file}, {"valid", result.ok()}};
    json["errors"] = json["warnings"] = Json::array();
    for (const ConfigError& error : result.errors) json["errors"].push_back(place_json(error));
    for (const ConfigWarning& warning : result.warnings) json["warnings"].push_back(place_json(warning));
    print_json(json);
  } else {
    print_check_result(result, file);
  }
  return result.ok() ? kExitOk : kExitUsage;
}

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .operands = {{.name = "FILE", .completes = Completes::file}},
      .summary = "validate a configuration file; needs no daemon",
      .details =
          "Validates a configuration file and prints everything that is wrong with it, each with file, line\n"
          "and column. Needs no headgated and no privileges.",
      .examples = {"headgatectl check /etc/headgate/headgate.toml && headgatectl reload"},
      .run = check,
  };
}

}  // namespace headgate
