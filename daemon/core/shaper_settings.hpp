// What a shaper is given of its shape's configuration. Whoever makes a shaper of a ShapeConfig, to shape or to simulate, takes
// these. Pure.
#pragma once

#include <vector>

#include "core/shaper.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// The shaper knows only classes: each is told what its link adds, and how narrow its way is.
std::vector<ClassConfig> classes_of(const ShapeConfig& config);

TreeConfig tree_of(const ShapeConfig& config);

}  // namespace headgate
