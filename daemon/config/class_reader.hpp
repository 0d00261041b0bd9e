// One [[shape.class]] → ClassConfig.
#pragma once

#include <toml++/toml.h>

#include "config/budget_reader.hpp"
#include "config/findings.hpp"
#include "config/network_lists.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Checks all that concerns the class alone; what is wrong is reported and left at its default. `link`: its shape has a
// rate.
ClassConfig read_class(const toml::table& table, bool link, NetworkLists& lists, BudgetReader& budgets,
                       Findings& findings);

// For what no class takes of a shape with a link rate.
ClassConfig default_class();

}  // namespace headgate
