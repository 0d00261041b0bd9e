// What of the daemon's replies is for everybody who can connect. What is not named here is left out, so that a member that
// the daemon gains is not told by mistake.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace headgate {

// Of the reply to "show". Without addresses, and without what classes match, unless `with_matches`. Throws
// nlohmann::json::exception where it is no such reply.
nlohmann::ordered_json public_show(const nlohmann::ordered_json& show, bool with_matches);

}  // namespace headgate
