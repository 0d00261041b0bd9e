// Link-layer accounting: overhead and mpu, whole numbers of bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// The target is unchanged after an error.
Reading read_overhead(std::int64_t bytes, ShapeConfig& shape);
Reading read_mpu(std::int64_t bytes, ShapeConfig& shape);

// As on the command line: an integer in decimal, without a unit.
Reading read_overhead(std::string_view text, ShapeConfig& shape);
Reading read_mpu(std::string_view text, ShapeConfig& shape);

}  // namespace headgate
