// A shape's tree of rates: its nodes, and which of its classes they are. Private to the core.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/shaped_class.hpp"
#include "core/shaper.hpp"
#include "limiters/rate_tree.hpp"

namespace headgate {

// Whether the class goes by the tree: with a link rate all that are shaped do, and none that is policed.
bool in_tree(const ClassConfig& config, const TreeConfig& tree);

// The link is node 0, group i is node i + 1, and the classes follow.
struct ShapeTree {
  RateTree rates;
  TreeConfig config;
  std::vector<ClassNumber> class_of;  // by node; kNoClass: the link or a group
  std::vector<TreeNode> node_of;      // by the class's index; kNoNode: not in the tree

  void prefetch(ClassIndex index) const {
    if (node_of[index] != kNoNode) rates.prefetch(node_of[index]);
  }
};

// Null: no class is in a tree. `numbers`: of the classes, by index. Groups that are not known count as the link. Throws
// std::bad_alloc.
std::unique_ptr<ShapeTree> make_shape_tree(std::span<const ClassConfig> classes,
                                           std::span<const ClassNumber> numbers, const TreeConfig& config);

// Which node of `before` each of `after` goes on from: the same class, or a group of the same name; kNoNode: none.
std::vector<TreeNode> nodes_before(const ShapeTree& after, const ShapeTree& before);

}  // namespace headgate
