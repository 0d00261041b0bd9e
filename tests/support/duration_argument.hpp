// A time on the command line of the support programs: "10", "10s", "250ms", "20us", "500ns"; a bare number is
// seconds.
#pragma once

#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace headgate::test {

inline std::chrono::nanoseconds parse_duration_argument(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  double nanoseconds_per_unit = 0;
  if (unit.empty() || unit == "s") nanoseconds_per_unit = 1e9;
  if (unit == "ms") nanoseconds_per_unit = 1e6;
  if (unit == "us") nanoseconds_per_unit = 1e3;
  if (unit == "ns") nanoseconds_per_unit = 1;
  if (error != std::errc{} || nanoseconds_per_unit == 0 || number < 0)
    throw std::invalid_argument("\"" + std::string(text) +
                                "\" is not a time such as 10s, 250ms, 20us or 500ns");
  return std::chrono::nanoseconds(static_cast<std::int64_t>(number * nanoseconds_per_unit + 0.5));
}

}  // namespace headgate::test
