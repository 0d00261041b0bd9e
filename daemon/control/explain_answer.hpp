// The answer to "explain": what would become of a packet, and why.
#pragma once

#include <nlohmann/json.hpp>

#include "control/control_handler.hpp"

namespace headgate {

// `request` has the members of the request as they were sent. Throws RequestError.
nlohmann::ordered_json answer_explain(const nlohmann::ordered_json& request, DaemonControl& daemon);

}  // namespace headgate
