// What each node of a tree of rates would get if traffic were a fluid and every demand constant: to compare a scheduler of
// packets with.
//
// First each class gets what it asks for up to its guarantee. The rest of the link is given out from the link down: at each
// node strictly by the children's priority, within one priority by weighted max-min of the excess, which is what a child gets
// above the guarantees used below it. No child takes more excess than its ceiling leaves above those, or than its own
// children can take together.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace headgate {

inline constexpr double kNoCeiling = std::numeric_limits<double>::infinity();

// Rates in bit/s. A node stands behind its parent; the first is the link. A class is a node that is nobody's parent.
struct FluidNode {
  std::size_t parent = 0;       // of the link not read
  double ceiling = kNoCeiling;  // of the link: its rate
  unsigned priority = 3;        // 0 first
  double weight = 1;
  double guarantee = 0;  // of a class
  double demand = 0;     // of a class, finite
};

// The rate of each node; a group's is the sum of its classes'.
std::vector<double> fluid_rates(std::span<const FluidNode> nodes);

}  // namespace headgate
