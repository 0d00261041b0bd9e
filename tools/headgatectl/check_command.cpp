#include "check_command.hpp"

#include <nlohmann/json.hpp>

#include "config/config_file.hpp"
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

}  // namespace

int check(const Invocation& invocation) {
  const ConfigResult result = load_config(invocation.argument, FileUse::once);
  if (invocation.json) {
    Json json = {{"schema", kSchema}, {"file", invocation.argument}, {"valid", result.ok()}};
    json["errors"] = json["warnings"] = Json::array();
    for (const ConfigError& error : result.errors) json["errors"].push_back(place_json(error));
    for (const ConfigWarning& warning : result.warnings) json["warnings"].push_back(place_json(warning));
    print_json(json);
  } else {
    print_check_result(result, invocation.argument);
  }
  return result.ok() ? kExitOk : kExitUsage;
}

}  // namespace headgate
