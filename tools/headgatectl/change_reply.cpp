#include "change_reply.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "config/quantity_text.hpp"
#include "control_client.hpp"
#include "json_output.hpp"
#include "option_value.hpp"
#include "output.hpp"
#include "visible_text.hpp"

namespace headgate {

using Json = nlohmann::ordered_json;

int change(const Invocation& invocation, const Json& request, const std::string& headline) {
  print_change(invocation, ask_daemon(invocation.control, request, kReloadPatience), headline);
  return kExitOk;
}

void print_change(const Invocation& invocation, const Json& reply, const std::string& headline) {
  if (invocation.json) {
    print_json(reply);
  } else if (!invocation.has("quiet")) {
    print(visible(headline) + "\n");
    for (const Json& message : reply["messages"]) print("  " + visible(message.get<std::string>()) + "\n");
  }
}

Option for_option() {
  return {.name = "for",
          .value = "TIME",
          .help = "for so long, then it is as before: 30s, 10min, 2h",
          .read = time_with_unit()};
}

Option quiet_option() {
  return {.letter = 'q', .name = "quiet", .help = "print nothing unless it fails"};
}

void add_time(const Invocation& invocation, Json& request) {
  if (const auto time = invocation.value<Duration>("for")) request["for_s"] = seconds_of(*time);
}

std::string time_text(const Invocation& invocation) {
  const auto time = invocation.value<Duration>("for");
  return time ? " for " + std::string(to_text(*time)) : "";
}

double seconds_of(Duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace headgate
