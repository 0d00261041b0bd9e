// What a scheduler's configuration must be, and the tree of rates that it describes.
#pragma once

#include <vector>

#include "headgate/scheduler.hpp"
#include "limiters/rate_tree.hpp"

namespace headgate {

// Throws std::invalid_argument: the first rule that is broken, and where.
void check(const Scheduler::Config& config);

// The link, the groups, and the classes, in this order.
std::vector<TreeNodeConfig> tree_nodes(const Scheduler::Config& config);

inline TreeNode node_of_class(const Scheduler::Config& config, Scheduler::ClassNumber number) {
  return static_cast<TreeNode>(1 + config.groups.size() + number);
}

}  // namespace headgate
