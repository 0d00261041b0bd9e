#include "commands.hpp"

namespace headgate {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      show_command(),     flows_command(),   plan_command(),       drops_command(),
      capture_command(),  metrics_command(), reload_command(),     check_command(),
      simulate_command(), version_command(), completion_command(), help_command(),
  };
  return table;
}

}  // namespace headgate
