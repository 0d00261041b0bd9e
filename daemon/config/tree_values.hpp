// What a place in a tree of rates is made of: bit rates, the budget they go by, priority, weight.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config/said.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

void read_bit_rate(const Said& said, std::optional<BitRate>& rate);
Reading read_budget_name(const std::string& text, std::string& budget);
void read_priority(const Said& said, TreePlace& place);
void read_weight(const Said& said, TreePlace& place);

nlohmann::ordered_json rate_or_null(const std::optional<BitRate>& rate);

}  // namespace headgate
