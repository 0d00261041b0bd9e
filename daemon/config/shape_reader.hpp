// One [[shape]] with its classes → ShapeConfig.
#pragma once

#include <toml++/toml.h>

#include "config/budget_reader.hpp"
#include "config/findings.hpp"
#include "config/network_lists.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Checks all that concerns the shape alone; what is wrong is reported and left at its default.
ShapeConfig read_shape(const toml::table& table, NetworkLists& lists, BudgetReader& budgets,
                       Findings& findings);

}  // namespace headgate
