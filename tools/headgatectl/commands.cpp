#include "commands.hpp"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "capture_command.hpp"
#include "config/config_file.hpp"
#include "control_client.hpp"
#include "flows_screen.hpp"
#include "json_output.hpp"
#include "output.hpp"
#include "show_screen.hpp"
#include "visible_text.hpp"

namespace headgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kFlowsInterval =
    std::chrono::seconds(1);  // between the first two looks, which give a rate

void print_json(const Json& json, const Invocation& invocation) {
  print_json(json, invocation.watch ? JsonLayout::one_line : JsonLayout::readable);
}

// Puts one screen in the place of the last.
void print_screen(const std::string& screen, const Invocation& invocation) {
  const bool replaces = invocation.watch && isatty(STDOUT_FILENO) == 1;
  print(replaces ? "\033[H\033[2J" + screen : screen);
}

// Calls `look` again and again. A daemon that is gone for a while, as at a restart, does not end the
// watching.
template <typename Look>
int watch(const Invocation& invocation, const Look& look) {
  look();
  while (invocation.watch) {
    std::this_thread::sleep_for(*invocation.watch);
    try {
      look();
    } catch (const ControlError& error) {
      if (invocation.json || error.exit != kExitNotRunning) throw;
      print_screen(visible_lines(error.what()) + "\n", invocation);
    }
  }
  return kExitOk;
}

int show(const Invocation& invocation) {
  const ScreenStyle style = ScreenStyle::detect();
  Json previous;
  return watch(invocation, [&] {
    Json reply = ask_daemon(invocation.control, {{"command", "show"}});
    if (invocation.json) {
      print_json(reply, invocation);
    } else {
      print_screen(show_screen(reply, previous, {invocation.bytes}, style), invocation);
    }
    previous = std::move(reply);
  });
}

// More flows than are shown, so that most that are among the largest later are known from now.
Json ask_flows(const Invocation& invocation) {
  Json request = {{"command", "flows"}, {"limit", std::min(2 * invocation.limit + 100, kMaxFlowLimit)}};
  if (!invocation.argument.empty()) request["class"] = invocation.argument;
  return ask_daemon(invocation.control, request);
}

int flows(const Invocation& invocation) {
  const ScreenStyle style = ScreenStyle::detect();
  Json previous = ask_flows(invocation);
  std::this_thread::sleep_for(kFlowsInterval);
  return watch(invocation, [&] {
    Json reply = ask_flows(invocation);
    const Json rated = with_rates(previous, reply, invocation.limit);
    if (invocation.json) {
      print_json(rated, invocation);
    } else {
      print_screen(flows_screen(rated, style), invocation);
    }
    previous = std::move(reply);
  });
}

int reload(const Invocation& invocation) {
  const Json reply = ask_daemon(invocation.control, {{"command", "reload"}});
  if (invocation.json) {
    print_json(reply, invocation);
    return kExitOk;
  }
  print("reloaded\n");
  for (const Json& message : reply["messages"]) print("  " + visible(message.get<std::string>()) + "\n");
  return kExitOk;
}

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
  const ConfigResult result = load_config(invocation.argument);
  if (invocation.json) {
    Json json = {{"schema", kSchema}, {"file", invocation.argument}, {"valid", result.ok()}};
    json["errors"] = json["warnings"] = Json::array();
    for (const ConfigError& error : result.errors) json["errors"].push_back(place_json(error));
    for (const ConfigWarning& warning : result.warnings) json["warnings"].push_back(place_json(warning));
    print_json(json, invocation);
  } else {
    print_check_result(result, invocation.argument);
  }
  return result.ok() ? kExitOk : kExitUsage;
}

int version(const Invocation& invocation) {
  Json json = {{"schema", kSchema}, {"headgatectl", HEADGATE_VERSION}};
  if (!invocation.json) print("headgatectl " HEADGATE_VERSION "\n");
  const Json reply = ask_daemon(invocation.control, {{"command", "version"}});
  if (invocation.json) {
    json["headgated"] = reply["version"];
    for (const char* member : {"pid", "uptime_s", "config"}) json[member] = reply[member];
    print_json(json, invocation);
  } else {
    print(visible(daemon_line(reply)) + "\n");
  }
  return kExitOk;
}

constexpr Subcommand kSubcommands[] = {
    {"show", "", false, "bytes watch", show},
    {"flows", "CLASS", false, "limit watch", flows},
    {"capture", "CLASS", true, "write received sent dropped count", capture},
    {"reload", "", false, "", reload},
    {"check", "FILE", true, "", check},
    {"version", "", false, "", version},
};

}  // namespace

std::span<const Subcommand> subcommands() {
  return kSubcommands;
}

}  // namespace headgate
