#include "commands.hpp"

namespace headgate {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      show_command(),    flows_command(),      top_command(),   set_command(),      limit_command(),
      unlimit_command(), plan_command(),       drops_command(), explain_command(),  capture_command(),
      metrics_command(), reload_command(),     try_command(),   confirm_command(),  undo_command(),
      diff_command(),    save_command(),       check_command(), simulate_command(), report_command(),
      version_command(), completion_command(), help_command(),
  };
  return table;
}

}  // namespace headgate
