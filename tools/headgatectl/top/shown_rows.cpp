#include "top/shown_rows.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "visible_text.hpp"

namespace headgate::top {
namespace {

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

const Rows& rows_of(const Samples& samples, const View& view) {
  switch (view.level) {
    case Level::links:
      return samples.links();
    case Level::classes:
      return samples.classes_of(view.link);
    case Level::flows:
      break;
  }
  return samples.flows_of(view.class_name);
}

std::optional<double> value_of(const Row& row, const View& view) {
  const Sample& now = row.history.latest();
  switch (view.sort) {
    case SortBy::rate:
      return view.packets ? now.packets : now.bits;
    case SortBy::drops:
      return now.drops;
    case SortBy::delay:
      return now.p99;
    case SortBy::queue:
      return static_cast<double>(row.queued);
    case SortBy::name:
      break;
  }
  return std::nullopt;
}

// To two digits, so that rows do not change places for less.
std::optional<double> rounded(std::optional<double> value) {
  if (!value || *value <= 0) return value;
  const double step = std::pow(10, std::floor(std::log10(*value)) - 1);
  return std::round(*value / step) * step;
}

bool stands_before(const Row& one, const Row& other, const View& view) {
  if (view.sort != SortBy::name) {
    const auto value = rounded(value_of(one, view)), others = rounded(value_of(other, view));
    if (value != others)
      return view.reversed ? value < others : value > others;  // what is not known is least
    return view.level == Level::flows && one.name < other.name;
  }
  return view.reversed ? one.name > other.name : one.name < other.name;
}

}  // namespace

ShownRows shown_rows(const Samples& samples, const View& view) {
  return arranged(rows_of(samples, view), view);
}

ShownRows arranged(const Rows& rows, const View& view) {
  const std::string wanted = lower(view.place().filter);
  ShownRows shown;
  for (const Row& row : rows)
    if (wanted.empty() || lower(visible(row.name)).find(wanted) != std::string::npos) shown.push_back(&row);
  std::stable_sort(shown.begin(), shown.end(),
                   [&](const Row* one, const Row* other) { return stands_before(*one, *other, view); });
  return shown;
}

}  // namespace headgate::top
