// Names that the configuration gives: interfaces, classes, groups, plans, the path of the control socket.
#pragma once

#include <string_view>

#include "config/reading.hpp"

namespace headgate {

// As the kernel names devices. Refuses by name what headgate leaves alone: lo, and headgate's own devices hgN and
// hgNp. Whether there is such an interface, and an Ethernet one, is seen when it is opened.
Reading check_interface_name(std::string_view name);

// 1 to 64 letters, digits, '-', '_' and '.'.
Reading check_class_name(std::string_view name);
Reading check_group_name(std::string_view name);
Reading check_plan_name(std::string_view name);
Reading check_budget_name(std::string_view name);

// Absolute, and short enough for a socket address with the number of the process behind it (service/published_socket.hpp).
Reading check_control_path(std::string_view path);

}  // namespace headgate
