#include "watching.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "control_client.hpp"
#include "json_output.hpp"
#include "option_value.hpp"
#include "output.hpp"
#include "visible_text.hpp"

namespace headgate {

Option watch_option() {
  return {.letter = 'w',
          .name = "watch",
          .value = "SECONDS",
          .help = "again and again, each second unless given, until interrupted",
          .read = seconds(0.1, 86'400),
          .value_left_out = "1"};
}

int watch(const Invocation& invocation, const std::function<void()>& look) {
  const auto interval = invocation.value<Duration>("watch");
  look();
  while (interval) {
    std::this_thread::sleep_for(*interval);
    try {
      look();
    } catch (const ControlError& error) {
      if (invocation.json || error.exit != kExitNotRunning) throw;
      print_look(visible_lines(error.what()) + "\n", invocation);
    }
  }
  return kExitOk;
}

void print_look(const std::string& screen, const Invocation& invocation) {
  const bool replaces = invocation.has("watch") && isatty(STDOUT_FILENO) == 1;
  print(replaces ? "\033[H\033[2J" + screen : screen);
}

void print_look(const nlohmann::ordered_json& json, const Invocation& invocation) {
  print_json(json, invocation.has("watch") ? JsonLayout::one_line : JsonLayout::readable);
}

}  // namespace headgate
