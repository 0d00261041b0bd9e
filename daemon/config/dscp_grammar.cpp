#include "config/dscp_grammar.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "config/characters.hpp"
#include "config/decimal.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

constexpr unsigned kLargest = 63;
constexpr std::string_view kRemark = "dscp:";

struct CodePoint {
  std::string_view name;
  unsigned number;
};

// RFC 2474 (cs), 2597 (af), 3246 (ef), 5865 (va), 8622 (le). Of two names of a number the first is shown.
constexpr auto kCodePoints = std::to_array<CodePoint>(
    {{"be", 0},    {"default", 0}, {"cs0", 0},   {"le", 1},    {"cs1", 8},   {"af11", 10}, {"af12", 12},
     {"af13", 14}, {"cs2", 16},    {"af21", 18}, {"af22", 20}, {"af23", 22}, {"cs3", 24},  {"af31", 26},
     {"af32", 28}, {"af33", 30},   {"cs4", 32},  {"af41", 34}, {"af42", 36}, {"af43", 38}, {"cs5", 40},
     {"va", 44},   {"ef", 46},     {"cs6", 48},  {"cs7", 56}});

Reading refuse_word(std::string_view text) {
  std::array<std::string_view, kCodePoints.size()> names;
  std::transform(kCodePoints.begin(), kCodePoints.end(), names.begin(),
                 [](const CodePoint& point) { return point.name; });
  const auto nearest = nearest_word(text, names);
  return refuse(quoted(text) + " is not a DSCP" +
                (nearest
                     ? ": did you mean " + quoted(*nearest) + "?"
                     : ", expected a name such as \"ef\", \"cs5\" or \"af41\", or a number from 0 to 63"));
}

}  // namespace

Reading read_dscp(std::string_view text, std::uint64_t& code_points) {
  const auto named = std::find_if(kCodePoints.begin(), kCodePoints.end(),
                                  [&](const CodePoint& point) { return point.name == lower(text); });
  if (named != kCodePoints.end()) {
    code_points |= std::uint64_t{1} << named->number;
    return {};
  }
  const auto number = Decimal::read(text);
  if (!number) return refuse_word(text);
  const Decimal::Product whole = number->times(1, kLargest);
  if (whole.exactness == Decimal::Exactness::fractional) return refuse_word(text);
  if (whole.exactness == Decimal::Exactness::too_large)
    return refuse(quoted(text) + " is out of bounds, expected a DSCP from 0 to 63");
  code_points |= std::uint64_t{1} << whole.value;
  return {};
}

std::vector<std::string> dscp_texts(std::uint64_t code_points) {
  std::vector<std::string> texts;
  for (unsigned number = 0; number <= kLargest; ++number) {
    if ((code_points >> number & 1) == 0) continue;
    const auto named = std::find_if(kCodePoints.begin(), kCodePoints.end(),
                                    [&](const CodePoint& point) { return point.number == number; });
    texts.push_back(named != kCodePoints.end() ? std::string(named->name) : std::to_string(number));
  }
  return texts;
}

Reading read_exceed(std::string_view text, std::optional<std::uint8_t>& dscp) {
  if (text == "drop") {
    dscp.reset();
    return {};
  }
  if (!text.starts_with(kRemark)) {
    std::uint64_t bare = 0;
    const bool is_bare = read_dscp(text, bare).ok();
    return refuse(quoted(text) + " is nothing that can be done with what exceeds" +
                  (is_bare ? ": did you mean " + quoted(std::string(kRemark).append(text)) + "?"
                           : ", expected \"drop\", or \"dscp:cs1\" or the like"));
  }
  std::uint64_t code_points = 0;
  Reading reading = read_dscp(text.substr(kRemark.size()), code_points);
  if (reading.ok()) dscp = static_cast<std::uint8_t>(std::countr_zero(code_points));
  return reading;
}

std::string exceed_text(std::optional<std::uint8_t> dscp) {
  if (!dscp) return "drop";
  return std::string(kRemark) + dscp_texts(std::uint64_t{1} << *dscp).front();
}

}  // namespace headgate
