#include "config/control_limit_grammar.hpp"

#include "config/quantity.hpp"
#include "config/quantity_text.hpp"

namespace headgate {
namespace {

constexpr std::string_view kNone = "none";

bool starts_like_a_quantity(std::string_view text) {
  return text.find_first_of("0123456789.-") == 0;
}

}  // namespace

Reading ControlLimitReader::add(std::string_view text) {
  const bool is_none = text == kNone;
  if (none_ || (is_none && limit_ != Rate{}))
    return refuse("\"none\" stands alone, expected it or rates such as [\"1000pps\", \"1mbit\"]");
  none_ = is_none;
  if (is_none) return {};
  Rate next = limit_;
  Reading reading = read_rate(text, next);
  if (reading.ok() && next.packets && next.packets->seconds != 1)
    return refuse(quoted(text) +
                  " counts in longer periods, expected packets per second such as \"1000pps\"");
  if (reading.ok()) limit_ = next;
  if (!reading.ok() && !starts_like_a_quantity(text)) reading.error += ", or \"none\"";
  return reading;
}

std::string control_limit_text(const Rate& limit) {
  return limit == Rate{} ? std::string(kNone) : to_text(limit);
}

}  // namespace headgate
