// The tables of a configuration → Config.
#pragma once

#include <toml++/toml.h>

#include "config/findings.hpp"

namespace headgate {

Config read_config(const toml::table& root, const Surroundings& surroundings, Findings& findings);

}  // namespace headgate
