// What the commands that change what is in force say of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "command.hpp"
#include "invocation.hpp"

namespace headgate {

// Asks the daemon and prints `headline` with what the daemon says of it; with --quiet nothing, with --json the reply.
int change(const Invocation& invocation, const nlohmann::ordered_json& request, const std::string& headline);
void print_change(const Invocation& invocation, const nlohmann::ordered_json& reply,
                  const std::string& headline);

// --for TIME.
Option for_option();
Option quiet_option();
void add_time(const Invocation& invocation, nlohmann::ordered_json& request);
std::string time_text(const Invocation& invocation);  // " for 10m", "" without --for

double seconds_of(Duration time);

}  // namespace headgate
