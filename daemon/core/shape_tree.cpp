#include "core/shape_tree.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace headgate {
namespace {

TreeNodeConfig node_of(const TreePlace& place, const TreeConfig& config, std::size_t groups_before) {
  const auto begin = config.groups.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(groups_before);
  const auto parent =
      std::find_if(begin, end, [&](const GroupConfig& group) { return group.name == place.parent; });
  return {.parent = parent == end ? kLink : static_cast<TreeNode>(1 + (parent - begin)),
          .ceiling = place.ceiling,
          .priority = place.priority,
          .weight = place.weight};
}

}  // namespace

bool in_tree(const ClassConfig& config, const TreeConfig& tree) {
  if (config.bypass || config.action == ClassAction::police) return false;
  return tree.rate || !config.place.parent.empty() || config.place.ceiling || config.guarantee ||
         config.fair || config.aqm != QueueManagement::none;
}

std::unique_ptr<ShapeTree> make_shape_tree(std::span<const ClassConfig> classes,
                                           std::span<const ClassNumber> numbers, const TreeConfig& config) {
  std::vector<TreeNodeConfig> nodes{{.ceiling = config.rate}};
  for (std::size_t i = 0; i < config.groups.size(); ++i)
    nodes.push_back(node_of(config.groups[i].place, config, i));
  std::vector<ClassNumber> class_of(nodes.size(), kNoClass);
  std::vector<TreeNode> node_of_class(classes.size(), kNoNode);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!in_tree(classes[i], config)) continue;
    TreeNodeConfig node = node_of(classes[i].place, config, config.groups.size());
    node.guarantee = classes[i].guarantee;
    node_of_class[i] = static_cast<TreeNode>(nodes.size());
    nodes.push_back(node);
    class_of.push_back(numbers[i]);
  }
  if (nodes.size() == 1 + config.groups.size()) return nullptr;
  return std::make_unique<ShapeTree>(ShapeTree{.rates = RateTree(nodes),
                                               .config = config,
                                               .class_of = std::move(class_of),
                                               .node_of = std::move(node_of_class)});
}

std::vector<TreeNode> nodes_before(const ShapeTree& after, const ShapeTree& before) {
  std::unordered_map<ClassNumber, TreeNode> classes;
  std::unordered_map<std::string_view, TreeNode> groups;
  for (TreeNode node = 1; node < before.class_of.size(); ++node) {
    if (before.class_of[node] == kNoClass)
      groups.emplace(before.config.groups[node - 1].name, node);
    else
      classes.emplace(before.class_of[node], node);
  }
  const auto find = [](const auto& nodes, const auto& key) {
    const auto found = nodes.find(key);
    return found == nodes.end() ? kNoNode : found->second;
  };
  std::vector<TreeNode> same{kLink};
  for (TreeNode node = 1; node < after.class_of.size(); ++node) {
    same.push_back(after.class_of[node] == kNoClass
                       ? find(groups, std::string_view(after.config.groups[node - 1].name))
                       : find(classes, after.class_of[node]));
  }
  return same;
}

}  // namespace headgate
