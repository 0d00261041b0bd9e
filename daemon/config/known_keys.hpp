// The keys of each table of the file, and what is said of others.
#pragma once

#include <toml++/toml.h>

#include <cstdint>

#include "config/findings.hpp"

namespace headgate {

enum class TableKind : std::uint8_t { file, daemon, budget, shape, shape_group, shape_class, class_plan };

// Reports each key of `table` that tables of this kind do not have: where it belongs, or what was probably
// meant.
void report_unknown_keys(const toml::table& table, TableKind kind, Findings& findings);

}  // namespace headgate
