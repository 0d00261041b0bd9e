// What the keys of one shape must have to do with each other, whether they stand in a file or on the command line.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "config/reading.hpp"
#include "headgate/config.hpp"

namespace headgate {

struct ShapeFinding {
  std::string_view key;  // of the file, as in "forward_to"
  Reading reading;
};

// `direction` is what was said, if anything. Gives an inline shape its direction.
std::vector<ShapeFinding> settle_shape(ShapeConfig& shape, std::optional<Direction> direction);

// Warnings about accounting that changes nothing. Only of use when the classes were read without error.
std::vector<ShapeFinding> check_accounting(const ShapeConfig& shape);

}  // namespace headgate
