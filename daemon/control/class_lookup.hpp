// Finds a class by the name a user gives: "eth0/egress/dns", or "dns" where that is unique.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/statistics.hpp"

namespace headgate {

std::string full_class_name(const ShapeStatistics& shape, std::string_view class_name);

// A class of a status: positions into its shapes and their configured classes.
struct ClassPosition {
  std::size_t shape = 0;
  std::size_t index = 0;
};

// All classes that `name` may mean, in order of configuration; a full name means one class only. Empty name:
// all.
std::vector<ClassPosition> find_classes(const std::vector<ShapeStatistics>& shapes, std::string_view name);

}  // namespace headgate
