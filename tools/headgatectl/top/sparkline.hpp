// A row of small bars, the latest on the right.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace headgate::top {

// The last `columns` values, each as a bar; the largest of them is the highest. Blank: not known. 0 is the line at
// the bottom, and what is above 0 stands above it. Exactly `columns` wide.
std::string sparkline(const std::vector<std::optional<double>>& values, std::size_t columns, bool utf8);

}  // namespace headgate::top
