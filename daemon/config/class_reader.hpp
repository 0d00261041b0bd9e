// One [[shape.class]] → ClassConfig.
#pragma once

#include <toml++/toml.h>

#include "config/findings.hpp"
#include "config/network_lists.hpp"
#include "headgate/config.hpp"

namespace headgate {

// Checks all that concerns the class alone; what is wrong is reported and left at its default.
ClassConfig read_class(const toml::table& table, NetworkLists& lists, Findings& findings);

}  // namespace headgate
