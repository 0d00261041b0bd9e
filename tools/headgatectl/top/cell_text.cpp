#include "top/cell_text.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "human_text.hpp"

namespace headgate::top {

std::string number_cell(const std::optional<double>& per_second) {
  if (!per_second) return "-";
  const double value = *per_second;
  if (value < 9.95 && value != std::floor(value)) {
    char text[16];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
  }
  return packets_text(static_cast<std::uint64_t>(std::llround(value)));
}

std::string delay_cell(const std::optional<double>& microseconds) {
  return microseconds ? delay_text(*microseconds) : "-";
}

}  // namespace headgate::top
