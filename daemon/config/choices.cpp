#include "config/choices.hpp"

#include <array>

#include "config/quantity_text.hpp"
#include "config/suggestion.hpp"

namespace headgate {

Reading read_direction(std::string_view text, Direction& direction) {
  static constexpr auto kSupported = std::to_array<std::string_view>({"egress"});
  if (text == "egress") {
    direction = Direction::egress;
    return {};
  }
  if (text == "ingress") {
    return refuse("\"ingress\" is not supported by this version yet, expected \"egress\"");
  }
  return refuse(quoted(text) + " is not a direction: " + suggest(text, kSupported));
}

Reading read_divert(std::string_view text, DivertMethod& method) {
  static constexpr auto kMethods = std::to_array<std::string_view>({"auto", "tcx", "clsact"});
  for (const DivertMethod candidate : {DivertMethod::automatic, DivertMethod::tcx, DivertMethod::clsact}) {
    if (text != to_text(candidate)) continue;
    method = candidate;
    return {};
  }
  return refuse(quoted(text) + " is no way to divert: " + suggest(text, kMethods));
}

}  // namespace headgate
