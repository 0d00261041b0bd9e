// The grammar of `cgroup`: the path of a control group below the root of cgroup v2, "system.slice/backup.service".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/reading.hpp"

namespace headgate {

// Adds one, without a slash at its ends, unless it is there. Whether there is such a cgroup is not asked. The list is
// unchanged after an error.
Reading read_cgroup(std::string_view text, std::vector<std::string>& paths);

}  // namespace headgate
