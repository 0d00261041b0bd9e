// What the keys of one shape must have to do with each other, whether they stand in a file or on the command line.
#pragma once

#include <string_view>
#include <vector>

#include "config/keys.hpp"
#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct ShapeFinding {
  std::string_view key;  // of the file, as in "forward_to"
  Reading reading;
};

// Of a shape whose keys were read. Gives it what follows from what was said: its segmentation, and an inline one its
// direction.
std::vector<ShapeFinding> settle_shape(ShapeDraft& shape);

// Warnings about accounting that changes nothing. Only of use when the classes were read without error.
std::vector<ShapeFinding> check_accounting(const ShapeConfig& shape);

}  // namespace headgate
