// `memory` and `max_flows` of all shapes, compared with the memory that there is.
#pragma once

#include <toml++/toml.h>

#include "config/findings.hpp"
#include "vocabulary/available_memory.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// What the file asks for and cannot get is an error: memory is locked when it is used, so it would run out in the middle of
// the work. Where only the defaults add up to too much, it is a warning, for few shapes use all that they may.
// `root` is the whole file.
void check_memory_bounds(const toml::table& root, const Config& config, const AvailableMemory& available,
                         Findings& findings);

}  // namespace headgate
