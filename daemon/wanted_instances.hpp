// Which instances the patterns of a configuration should have. Pure: start, reload and link events ask the same, and
// compare it with what there is.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct WantedInstance {
  std::size_t shape = 0;  // of the pattern, by its place in the configuration
  std::string interface;  // the name that matches
  int index = 0;          // of the interface
  bool operator==(const WantedInstance&) const = default;
};

// An interface and a direction that some shape has.
using TakenPlace = std::pair<int, Direction>;

// In each direction an interface is a shape's that names it, by whichever of its names; else of the first pattern in order
// that its name matches, alternative names aside; else nobody's. `taken`: places that shapes hold all the same, as one
// whose interface was renamed. In order of the configuration, then of the links.
std::vector<WantedInstance> wanted_instances(const std::vector<ShapeConfig>& configured,
                                             const std::vector<Link>& links,
                                             const std::vector<TakenPlace>& taken = {});

// The shape of one interface, as its pattern has it.
ShapeConfig instance_of(const ShapeConfig& pattern, const std::string& interface);

// The shapes that are no patterns, in order.
std::vector<ShapeConfig> named_shapes(const std::vector<ShapeConfig>& configured);

}  // namespace headgate
