// A simulation as JSON: what `headgatectl -j simulate` prints, and what its page is drawn from. headgatectl(1) describes it.
//
// Classes and flows in full figures; series and spacing of the largest classes each, and of the others together.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "summary.hpp"

namespace headgate {

// `flows`: so many of the largest.
nlohmann::ordered_json report_json(const SimulationSummary& summary, std::size_t flows);

}  // namespace headgate
