// [daemon] → DaemonConfig.
#pragma once

#include <toml++/toml.h>

#include <string_view>

#include "config/findings.hpp"
#include "headgate/config.hpp"

namespace headgate {

DaemonConfig read_daemon(const toml::table& table, Findings& findings);

}  // namespace headgate
