// How many workers a shape has: a whole number.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// The target is unchanged after an error.
Reading read_workers(std::int64_t count, std::uint32_t& workers);
Reading read_workers(std::string_view text, std::uint32_t& workers);  // as on the command line

}  // namespace headgate
