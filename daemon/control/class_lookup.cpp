#include "control/class_lookup.hpp"

#include "config/quantity_text.hpp"

namespace headgate {

std::string full_class_name(const ShapeStatistics& shape, std::string_view class_name) {
  std::string name = shape.interface;
  name += '/';
  name += to_text(shape.direction);
  name += '/';
  name += class_name;
  return name;
}

std::vector<ClassPosition> find_classes(const std::vector<ShapeStatistics>& shapes, std::string_view name) {
  std::vector<ClassPosition> found;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<ClassConfig>& classes = shapes[i].config.classes;
    for (std::size_t j = 0; j < classes.size(); ++j) {
      if (full_class_name(shapes[i], classes[j].name) == name) return {{i, j}};
      if (name.empty() || classes[j].name == name) found.push_back({i, j});
    }
  }
  return found;
}

}  // namespace headgate
