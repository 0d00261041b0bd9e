#include "wanted_instances.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "config/interface_pattern.hpp"

namespace headgate {

std::vector<WantedInstance> wanted_instances(const std::vector<ShapeConfig>& configured,
                                             const std::vector<Link>& links,
                                             const std::vector<TakenPlace>& taken) {
  std::set<TakenPlace> places(taken.begin(), taken.end());
  for (const ShapeConfig& shape : configured) {
    if (is_template(shape)) continue;
    for (const Link& link : links)
      if (link.is_called(shape.interface)) places.emplace(link.index, shape.direction);
  }
  std::vector<WantedInstance> wanted;
  for (std::size_t i = 0; i < configured.size(); ++i) {
    const ShapeConfig& shape = configured[i];
    if (!is_template(shape)) continue;
    for (const Link& link : links) {
      if (!matches_pattern(shape.interface, link.name)) continue;
      if (places.emplace(link.index, shape.direction).second) wanted.push_back({i, link.name, link.index});
    }
  }
  return wanted;
}

ShapeConfig instance_of(const ShapeConfig& pattern, const std::string& interface) {
  ShapeConfig instance = pattern;
  instance.pattern = pattern.interface;
  instance.interface = interface;
  return instance;
}

std::vector<ShapeConfig> named_shapes(const std::vector<ShapeConfig>& configured) {
  std::vector<ShapeConfig> named;
  std::copy_if(configured.begin(), configured.end(), std::back_inserter(named),
               [](const ShapeConfig& shape) { return !is_template(shape); });
  return named;
}

}  // namespace headgate
