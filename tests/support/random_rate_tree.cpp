#include "support/random_rate_tree.hpp"

#include <cmath>

namespace headgate {

RandomRateTree::RandomRateTree(std::uint64_t seed, const RandomTreeShape& shape)
    : random_(seed), shape_(shape) {
  rate_ = static_cast<std::uint64_t>(std::pow(10.0, even(5, 10)));
  nodes_.push_back({});
  if (shape_.link_rate) nodes_[kLink].ceiling = BitRate{rate_};
  const bool full = chance(0.2);  // guarantees fill what is above them
  add_children(kLink, rate_, shape_.link_rate ? part_of(rate_, full ? 1 : even(0, 1)) : 0, 1);
}

// The guarantees below a node are at most as much as it may give away, and that is at most its ceiling.
void RandomRateTree::add_children(TreeNode parent, std::uint64_t ceiling, std::uint64_t guarantees,
                                  unsigned level) {
  const std::uint64_t count = whole(shape_.least_children, shape_.most_children);
  const bool one_priority = chance(0.5);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<TreeNode>(nodes_.size());
    TreeNodeConfig node{.parent = parent};
    std::uint64_t own_ceiling = ceiling;
    if (chance(0.4)) {
      own_ceiling = part_of(ceiling, even(0.05, 1.2));
      node.ceiling = BitRate{own_ceiling};
    }
    if (!one_priority) node.priority = static_cast<std::uint8_t>(chance(0.5) ? whole(2, 4) : whole(0, 7));
    if (chance(0.6)) node.weight = static_cast<std::uint32_t>(chance(0.1) ? whole(1, 10'000) : whole(1, 10));
    std::uint64_t own_guarantees = i + 1 == count || chance(0.2) ? guarantees : guarantees / (count - i);
    own_guarantees = std::min(own_guarantees, own_ceiling);
    const bool is_class = level == shape_.levels || chance(0.4);
    nodes_.push_back(node);
    if (!is_class) {
      guarantees -= own_guarantees;
      add_children(number, own_ceiling, own_guarantees, level + 1);
      continue;
    }
    classes_.push_back(number);
    if (own_guarantees == 0 || chance(0.4)) continue;
    nodes_[number].guarantee = BitRate{own_guarantees};
    guarantees -= own_guarantees;
  }
}

std::vector<PacketSource> RandomRateTree::random_sources(std::uint64_t seed, PacketSizes sizes) const {
  std::mt19937_64 random(seed);
  const auto even = [&random](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  std::vector<PacketSource> sources(nodes_.size());
  for (const TreeNode number : classes_) {
    PacketSource& source = sources[number];
    if (sizes == PacketSizes::equal) source.least = source.most;
    const double kind = even(0, 1);
    if (kind < 0.1) continue;
    const double most =
        static_cast<double>(rate_) / (shape_.link_rate ? 1 : static_cast<double>(classes_.size()));
    if (kind < 0.4 && shape_.link_rate)
      source.saturating = true;
    else if (kind < 0.6 && nodes_[number].guarantee)  // about its guarantee
      source.rate = static_cast<std::uint64_t>(
          static_cast<double>(nodes_[number].guarantee->bits_per_second) * even(0.5, 2));
    else
      source.rate = static_cast<std::uint64_t>(most * std::pow(10.0, even(-2.5, 0.2)));
  }
  return sources;
}

std::vector<double> fluid_rates(std::span<const TreeNodeConfig> nodes, std::span<const PacketSource> sources,
                                std::uint64_t most) {
  std::vector<FluidNode> fluid(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fluid[i].parent = nodes[i].parent;
    if (nodes[i].ceiling) fluid[i].ceiling = static_cast<double>(nodes[i].ceiling->bits_per_second);
    fluid[i].priority = nodes[i].priority;
    fluid[i].weight = nodes[i].weight;
    if (nodes[i].guarantee) fluid[i].guarantee = static_cast<double>(nodes[i].guarantee->bits_per_second);
    fluid[i].demand = static_cast<double>(sources[i].saturating ? most : sources[i].rate);
  }
  return fluid_rates(fluid);
}

}  // namespace headgate
