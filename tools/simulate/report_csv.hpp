// A simulation as CSV (RFC 4180, lines end as in Unix): a line for each class, then one for each flow.
#pragma once

#include <string>

#include "summary.hpp"

namespace headgate {

std::string report_csv(const SimulationSummary& summary);

}  // namespace headgate
