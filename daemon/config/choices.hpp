// Keys whose value is one of a few words.
#pragma once

#include <string_view>

#include "config/reading.hpp"
#include "headgate/config.hpp"

namespace headgate {

// Refuses the direction that this version cannot shape.
Reading read_direction(std::string_view text, Direction& direction);

Reading read_divert(std::string_view text, DivertMethod& method);

}  // namespace headgate
