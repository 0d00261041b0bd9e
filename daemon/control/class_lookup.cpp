#include "control/class_lookup.hpp"

#include "config/quantity_text.hpp"

namespace headgate {
namespace {

std::string full_name(std::string_view interface, Direction direction, std::string_view class_name) {
  std::string name(interface);
  name += '/';
  name += to_text(direction);
  name += '/';
  name += class_name;
  return name;
}

// The name of a class where `name` is that of one of this shape in full; else nothing.
std::string_view class_part(std::string_view name, const ShapeConfig& shape) {
  for (const std::string_view part : {std::string_view(shape.interface), to_text(shape.direction)}) {
    if (!name.starts_with(part) || !name.substr(part.size()).starts_with('/')) return {};
    name.remove_prefix(part.size() + 1);
  }
  return name;
}

// Of one shape, or of the sums of a pattern, those that `name` may mean; `short_too`: also by the class's name alone.
std::vector<FoundClass> find_in(const ShapeStatistics& shape, std::string_view name, bool short_too) {
  std::vector<FoundClass> found;
  for (const ClassConfig& config : shape.config.classes) {
    std::string full_name = full_class_name(shape, config.name);
    const bool meant = full_name == name || (short_too && (name.empty() || config.name == name));
    if (meant) found.push_back({.name = std::move(full_name), .config = &config, .counted = &shape});
  }
  return found;
}

std::vector<const ShapeStatistics*> instances_of(const std::vector<ShapeStatistics>& shapes,
                                                 const ShapeStatistics& sum) {
  std::vector<const ShapeStatistics*> instances;
  for (const ShapeStatistics& shape : shapes) {
    if (shape.config.pattern == sum.interface && shape.direction == sum.direction)
      instances.push_back(&shape);
  }
  return instances;
}

}  // namespace

std::string full_class_name(const ShapeStatistics& shape, std::string_view class_name) {
  return full_name(shape.interface, shape.direction, class_name);
}

std::string ConfiguredClass::name() const {
  return full_name(shape->interface, shape->direction, config->name);
}

std::vector<ConfiguredClass> find_classes(std::span<const ShapeConfig* const> shapes, std::string_view name) {
  std::vector<ConfiguredClass> found;
  for (const ShapeConfig* shape : shapes) {
    const std::string_view named_in_full = class_part(name, *shape);
    for (const ClassConfig& config : shape->classes) {
      if (config.name == named_in_full) return {{shape, &config}};
      if (name.empty() || config.name == name) found.push_back({shape, &config});
    }
  }
  return found;
}

std::vector<FoundClass> find_classes(const std::vector<ShapeStatistics>& shapes,
                                     const std::vector<PatternStatistics>& patterns, std::string_view name) {
  std::vector<FoundClass> found;
  for (const ShapeStatistics& shape : shapes) {
    for (FoundClass& one : find_in(shape, name, shape.config.pattern.empty())) {
      one.shapes = {&shape};
      if (one.name == name) return {std::move(one)};
      found.push_back(std::move(one));
    }
  }
  for (const PatternStatistics& pattern : patterns) {
    for (FoundClass& one : find_in(pattern.sum, name, true)) {
      one.shapes = instances_of(shapes, pattern.sum);
      one.of_pattern = true;
      if (one.name == name) return {std::move(one)};
      found.push_back(std::move(one));
    }
  }
  return found;
}

}  // namespace headgate
