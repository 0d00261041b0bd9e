// top on a terminal: asks each tick, draws when the answers are there, and answers keys meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "top/samples.hpp"
#include "top/view.hpp"

namespace headgate::top {

struct Task {
  std::string control;                  // the daemon's socket
  View view;                            // where it begins
  std::optional<std::uint64_t> rounds;  // none: until it is ended
};

// Needs can_show_screens(). Returns when the user quits, at an ending signal, and after the rounds; the terminal is
// as before then. Throws std::runtime_error for a terminal that cannot be used.
void show_full_screen(const Task& task);

}  // namespace headgate::top
