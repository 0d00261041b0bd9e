// The `match` of all classes of a file, compiled together.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "config/compiled_matches.hpp"
#include "config/findings.hpp"

namespace headgate {

// What is to be said of an expression that compiles. `control`: its class takes control traffic.
std::vector<std::string> match_warnings(const CompiledMatch& match, bool control);

// `shapes` are the tables of the file. Each expression is compiled once, however many classes have it.
void check_matches(const toml::array& shapes, CompiledMatches& matches,
                   const CompiledMatches::Meanwhile& meanwhile, Findings& findings);

}  // namespace headgate
