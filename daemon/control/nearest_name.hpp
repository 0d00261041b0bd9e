// "Did you mean": the known name that a mistyped word is closest to.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headgate {

// Empty when none is near: more than a third of the letters would have to change.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

}  // namespace headgate
