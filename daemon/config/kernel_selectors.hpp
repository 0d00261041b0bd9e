// What `mark` and `cgroup`, which the kernel alone can tell, want of their shape, and of the whole configuration.
#pragma once

#include <toml++/toml.h>

#include <vector>

#include "config/findings.hpp"
#include "config/shape_rules.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Of a class of the shape. Refuses what the shape's capture, as it was said, or its direction does not go with.
std::vector<ShapeFinding> check_kernel_selectors(const ShapeConfig& shape, const ClassConfig& config);

// The same for a file, whose tables are `tables`; and there are no more than kMaxCgroups different cgroups.
void check_kernel_selectors(const toml::array& tables, const std::vector<ShapeConfig>& shapes,
                            Findings& findings);

}  // namespace headgate
