// What the shapes of a file must have to do with each other.
#pragma once

#include <vector>

#include "config/findings.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct PlacedShape {
  ShapeConfig config;
  Place interface;  // of the values, each that of the shape where there is none
  Place forward_to;
};

// Refuses an interface and direction that is shaped twice, and an inline interface with more than one other end. Warns
// of a wire that carries one direction only.
void check_shapes_together(const std::vector<PlacedShape>& shapes, Findings& findings);

}  // namespace headgate
