// What a sample has, in a cell. "-": not known.
#pragma once

#include <optional>
#include <string>

namespace headgate::top {

std::string number_cell(const std::optional<double>& per_second);   // "0", "0.3", "999", "12.3k"
std::string delay_cell(const std::optional<double>& microseconds);  // "50.2 ms"

}  // namespace headgate::top
