// Finds a class by the name a user gives: "eth0/egress/dns", "veth*/egress/dns" for that of all instances of a pattern, or
// "dns" where that is unique.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

std::string full_class_name(const ShapeStatistics& shape, std::string_view class_name);

// A class of a shape, or of a pattern for all that match it.
struct ConfiguredClass {
  const ShapeConfig* shape = nullptr;
  const ClassConfig* config = nullptr;
  std::string name() const;  // in full
};

// All classes that `name` may mean, in order. A full name means one class only. Empty name: all.
std::vector<ConfiguredClass> find_classes(std::span<const ShapeConfig* const> shapes, std::string_view name);

// A class of one shape, or of all instances of a pattern together.
struct FoundClass {
  std::string name;                            // in full
  const ClassConfig* config = nullptr;         // of the statistics that were searched
  const ShapeStatistics* counted = nullptr;    // likewise: the shape, or the pattern's sums
  std::vector<const ShapeStatistics*> shapes;  // that one shape, or the pattern's instances; perhaps none
  bool of_pattern = false;
};

// All classes that `name` may mean: those of shapes in order, then those of patterns. A full name means one class only. By
// a short name the instances of a pattern are one. Empty name: all, likewise.
std::vector<FoundClass> find_classes(const std::vector<ShapeStatistics>& shapes,
                                     const std::vector<PatternStatistics>& patterns, std::string_view name);

}  // namespace headgate
