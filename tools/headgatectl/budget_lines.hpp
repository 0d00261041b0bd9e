// What `headgatectl show` says of a budget: what this host may send of it, and why so much.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text_table.hpp"

namespace headgate {

// `budget` is of the reply to "show". One line, and one more while the hosts do not say the same.
std::string budget_lines(const nlohmann::ordered_json& budget, const ScreenStyle& style);

}  // namespace headgate
