#include "config/findings.hpp"

#include <algorithm>
#include <tuple>

namespace headgate {

void Findings::add_error(Place place, std::string message) {
  errors_.push_back({name_of(place), place.line, place.column, std::move(message)});
}

void Findings::add_warning(Place place, std::string message) {
  warnings_.push_back({{name_of(place), place.line, place.column, std::move(message)}});
}

bool Findings::add(Place place, std::string_view key, Reading reading) {
  const std::string subject = std::string(key) + ": ";
  if (!reading.warning.empty()) add_warning(place, subject + reading.warning);
  if (reading.ok()) return true;
  add_error(place, subject + reading.error);
  return false;
}

std::size_t Findings::rank_of(const ConfigError& error) const {
  return static_cast<std::size_t>(std::find(files_.begin(), files_.end(), error.file) - files_.begin());
}

void Findings::hand_over(ConfigResult& result) {
  const auto in_file_order = [this](const ConfigError& a, const ConfigError& b) {
    return std::tuple(rank_of(a), a.line, a.column) < std::tuple(rank_of(b), b.line, b.column);
  };
  std::stable_sort(errors_.begin(), errors_.end(), in_file_order);
  std::stable_sort(warnings_.begin(), warnings_.end(), in_file_order);
  result.errors = std::move(errors_);
  result.warnings = std::move(warnings_);
}

}  // namespace headgate
