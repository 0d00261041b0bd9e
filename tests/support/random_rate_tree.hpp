// Random trees of rates with random demands, and what a fluid would do in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "limiters/rate_tree.hpp"
#include "support/fluid_oracle.hpp"
#include "support/rate_tree_driver.hpp"

namespace headgate {

struct RandomTreeShape {
  unsigned levels = 4;         // below the link
  unsigned most_children = 4;  // of a node
  unsigned least_children = 1;
  bool link_rate = true;  // without one no guarantees, and no source that saturates
};

// Sizes of all packets: random, or one size.
enum class PacketSizes { random, equal };

class RandomRateTree {
 public:
  RandomRateTree(std::uint64_t seed, const RandomTreeShape& shape);

  const std::vector<TreeNodeConfig>& nodes() const { return nodes_; }
  const std::vector<TreeNode>& classes() const { return classes_; }
  // Of the link; where that has none, of all demands together at most.
  std::uint64_t rate() const { return rate_; }

  // From nothing to beyond the link. By node.
  std::vector<PacketSource> random_sources(std::uint64_t seed, PacketSizes sizes) const;

 private:
  void add_children(TreeNode parent, std::uint64_t ceiling, std::uint64_t guarantees, unsigned level);
  double even(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
  bool chance(double probability) { return even(0, 1) < probability; }
  std::uint64_t whole(std::uint64_t from, std::uint64_t to) {
    return std::uniform_int_distribution<std::uint64_t>(from, to)(random_);
  }
  std::uint64_t part_of(std::uint64_t rate, double part) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(rate) * part));
  }

  std::mt19937_64 random_;
  RandomTreeShape shape_;
  std::uint64_t rate_;
  std::vector<TreeNodeConfig> nodes_;
  std::vector<TreeNode> classes_;
};

// The rates of all nodes by the oracle. A source that saturates asks for `most`.
std::vector<double> fluid_rates(std::span<const TreeNodeConfig> nodes, std::span<const PacketSource> sources,
                                std::uint64_t most);

}  // namespace headgate
