// A simulation as tables: its classes, then its largest flows.
#pragma once

#include <cstddef>
#include <string>

#include "text_table.hpp"

namespace headgate {

struct SimulationSummary;

std::string simulate_screen(const SimulationSummary& summary, std::size_t flows, const ScreenStyle& style);

}  // namespace headgate
