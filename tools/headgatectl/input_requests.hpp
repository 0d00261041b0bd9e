// Requests from the lines of standard input, all over one connection: they are sent ahead, and replies come in order.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "invocation.hpp"

namespace headgate {

struct InputRequests {
  // Of the words of a line. Throws UsageError, which refuses the line.
  std::function<nlohmann::ordered_json(const std::vector<std::string>& words)> request;
  std::function<bool(const nlohmann::ordered_json& reply)> changes_nothing;  // null: each changes something
  bool names_classes = false;  // each line its own; else one for all, and the first refusal of it ends all
  std::string_view noun;       // of what a line changes: "member"
};

// A line that is refused is named, and the rest goes on. Returns the exit code. Throws ControlError.
int send_input(const Invocation& invocation, const InputRequests& requests);

}  // namespace headgate
