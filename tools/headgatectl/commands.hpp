// What headgatectl can do: the table of its commands, in the order of help. A row is in the file of its name.
#pragma once

#include <vector>

#include "command.hpp"

namespace headgate {

Command show_command();
Command flows_command();
Command top_command();
Command set_command();
Command limit_command();
Command unlimit_command();
Command plan_command();
Command drops_command();
Command explain_command();
Command capture_command();
Command metrics_command();
Command reload_command();
Command try_command();
Command confirm_command();
Command undo_command();
Command diff_command();
Command save_command();
Command check_command();
Command simulate_command();
Command report_command();
Command version_command();
Command completion_command();
Command help_command();

// The first is what no command means.
const std::vector<Command>& commands();

}  // namespace headgate
