// The screen of `headgatectl flows --both`, and the rates that it and its JSON have.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text_table.hpp"

namespace headgate {

// Of two replies to a "flows" request with "both": the later one's `limit` largest pairs, each way with member "rate" as
// with_rates() has it (flows_screen.hpp), and "interval_s".
nlohmann::ordered_json with_rates_of_both(const nlohmann::ordered_json& earlier, nlohmann::ordered_json later,
                                          std::size_t limit);

// `reply` as with_rates_of_both() gives it.
std::string both_ways_screen(const nlohmann::ordered_json& reply, const ScreenStyle& style);

}  // namespace headgate
