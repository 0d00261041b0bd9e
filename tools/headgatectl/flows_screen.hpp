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

// `reply` as with_rates() gives it.
std::string flows_screen(const nlohmann::ordered_json& reply, const ScreenStyle& style);

}  // namespace headgate
