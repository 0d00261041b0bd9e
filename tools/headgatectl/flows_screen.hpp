// The screen of `headgatectl flows`, and the rates that it and its JSON have.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "text_table.hpp"

namespace headgate {

// Of two replies to a "flows" request: the later one's `limit` largest flows, each with member "rate" (null:
// not known, the flow was not among those of the earlier reply), and "interval_s".
nlohmann::ordered_json with_rates(const nlohmann::ordered_json& earlier, nlohmann::ordered_json later,
                                  std::size_t limit);

// Between two counts of what was sent, so many seconds apart. Null when the count went back: the flow was forgotten and came
// again.
nlohmann::ordered_json sending_rate(const nlohmann::ordered_json& before, const nlohmann::ordered_json& sent,
                                    double seconds);

// "the 20 largest; rates measured over 1.0 s"
std::string measured_line(std::size_t shown, const nlohmann::ordered_json& reply);

// `reply` as with_rates() gives it.
std::string flows_screen(const nlohmann::ordered_json& reply, const ScreenStyle& style);

}  // namespace headgate
