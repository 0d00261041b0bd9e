// Statistics as the stable JSON of schema 1; headgatectl(1) describes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/flow_key_text.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

nlohmann::ordered_json to_json(const Count& count);
nlohmann::ordered_json to_json(const DropCounts& dropped);  // all reasons, also those that are zero
nlohmann::ordered_json to_json(const DecodedFlowKey& key);  // only what the key has
nlohmann::ordered_json delay_bounds_json();                 // DelayTotals::bound() in microseconds

// `config` is that of the flow's class, `class_name` its name in full.
nlohmann::ordered_json to_json(const FlowStatistics& flow, const ClassConfig& config,
                               const std::string& class_name);

// Empty: none.
std::string plan_name(PlanNumber plan, const ClassConfig& config);

nlohmann::ordered_json to_json(const ShapeStatistics& shape);
nlohmann::ordered_json to_json(const BudgetStatistics& budget);
// The sums as those of a shape, with the names of the interfaces that are shaped, and of those that are not.
nlohmann::ordered_json to_json(const PatternStatistics& pattern);

}  // namespace headgate
