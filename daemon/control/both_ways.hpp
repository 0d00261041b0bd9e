// What goes to and from the same addresses, side by side: of a class that tells them apart by destination, and the class of the
// same name that does by source.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/control_handler.hpp"

namespace headgate {

// The reply's members "classes", down and then up, and "pairs": the `limit` largest by what both ways come to. `name` is that of
// one of the two classes in full, or the name of both. Throws RequestError.
nlohmann::ordered_json both_ways_json(const DaemonStatus& status, const std::string& name, std::size_t limit,
                                      DaemonControl& daemon);

}  // namespace headgate
