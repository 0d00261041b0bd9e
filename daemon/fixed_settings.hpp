// Settings that a reload does not change, because devices, memory or threads were made by them.
#pragma once

#include <string>
#include <vector>

#include "vocabulary/config.hpp"

namespace headgate {

// The keys, as in the file, whose values differ.
std::vector<std::string> fixed_settings_changed(const DaemonConfig& now, const DaemonConfig& next);
std::vector<std::string> fixed_settings_changed(const ShapeConfig& now, const ShapeConfig& next);

// What is in force after a reload to `next`.
ShapeConfig with_fixed_settings_of(const ShapeConfig& now, ShapeConfig next);

// Throws where that could not be: a tree of rates, or plans whose members are together, have one worker, and the shape keeps
// those that it has.
void refuse_several_workers(const std::string& title, const ShapeConfig& now, const ShapeConfig& next);

}  // namespace headgate
