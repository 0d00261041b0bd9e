// What one configuration says and another does not, key by key, as `show --json` writes their values.
#pragma once

#include <vector>

#include "control/live_requests.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Of the shapes; that of [daemon] holds from a start to the next.
std::vector<Difference> differences(const Config& in_files, const Config& in_force);

}  // namespace headgate
