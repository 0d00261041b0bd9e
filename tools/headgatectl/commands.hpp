// What headgatectl can do.
#pragma once

#include <span>

#include "invocation.hpp"

namespace headgate {

// The first is what no command means. Each throws ControlError when it fails, and OutputClosed.
std::span<const Subcommand> subcommands();

}  // namespace headgate
