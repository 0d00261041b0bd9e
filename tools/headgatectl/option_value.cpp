#include "option_value.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "config/quantity.hpp"
#include "headgate/clock.hpp"

namespace headgate {
namespace {

template <typename Number>
std::optional<Number> number(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// 86400, 0.1: as they are written.
std::string plain_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed);
  return {text, end};
}

}  // namespace

ValueReader number_from(std::uint64_t least, std::uint64_t most) {
  return [least, most](const std::string& text) -> std::any {
    const auto value = number<std::uint64_t>(text);
    if (value && *value >= least && *value <= most) return *value;
    const bool bounded = most < std::numeric_limits<std::uint64_t>::max();
    throw WrongValue("a whole number from " + std::to_string(least) +
                     (bounded ? " to " + std::to_string(most) : " on"));
  };
}

ValueReader seconds(double least, double most) {
  return [least, most](const std::string& text) -> std::any {
    const auto value = number<double>(text);
    if (value && std::isfinite(*value) && *value >= least && *value <= most)
      return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*value));
    throw WrongValue("a number of seconds from " + plain_text(least) + " to " + plain_text(most));
  };
}

ValueReader time_with_unit() {
  return [](const std::string& text) -> std::any {
    Duration time{};
    if (read_window(text, time).ok()) return time;
    throw WrongValue("a time of at most 31d, such as 30s, 10min or 2h");
  };
}

}  // namespace headgate
