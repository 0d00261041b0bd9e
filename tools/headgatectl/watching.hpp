// Commands that look again and again, as show --watch does.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "invocation.hpp"

namespace headgate {

// -w, --watch[=SECONDS], for the row of a command that calls watch().
Option watch_option();

// Calls `look` once, or with --watch again and again until interrupted. A daemon that is gone for a while, as at a
// restart, does not end the watching. Returns the exit code.
int watch(const Invocation& invocation, const std::function<void()>& look);

// What one look found: a screen in the place of the last, or JSON, one object a line while watching.
void print_look(const std::string& screen, const Invocation& invocation);
void print_look(const nlohmann::ordered_json& json, const Invocation& invocation);

}  // namespace headgate
