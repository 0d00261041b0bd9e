#include "support/fluid_oracle.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace headgate {
namespace {

class FluidTree {
 public:
  explicit FluidTree(std::span<const FluidNode> nodes)
      : nodes_(nodes),
        children_(nodes.size()),
        guaranteed_(nodes.size()),
        most_(nodes.size()),
        excess_(nodes.size()) {
    for (std::size_t node = 1; node < nodes.size(); ++node) children_[nodes[node].parent].push_back(node);
    for (std::size_t node = nodes.size(); node-- > 0;) look_below(node);
  }

  std::vector<double> rates() {
    give(0, most_[0]);
    std::vector<double> rates(nodes_.size());
    for (std::size_t node = 0; node < nodes_.size(); ++node) rates[node] = guaranteed_[node] + excess_[node];
    return rates;
  }

 private:
  using Nodes = std::vector<std::size_t>;

  // How much of the guarantees a node uses, and how much excess it can take. Its children are done.
  void look_below(std::size_t node) {
    double takes = 0;
    if (children_[node].empty()) {
      guaranteed_[node] = std::min(nodes_[node].demand, nodes_[node].guarantee);
      takes = nodes_[node].demand - guaranteed_[node];
    }
    for (const std::size_t child : children_[node]) {
      guaranteed_[node] += guaranteed_[child];
      takes += most_[child];
    }
    most_[node] = std::max(0.0, std::min(nodes_[node].ceiling - guaranteed_[node], takes));
  }

  // No more than the node can take.
  void give(std::size_t node, double amount) {
    excess_[node] = amount;
    std::map<unsigned, Nodes> by_priority;
    for (const std::size_t child : children_[node]) by_priority[nodes_[child].priority].push_back(child);
    for (auto& [priority, children] : by_priority) amount -= share(std::move(children), amount);
  }

  // Raises the level of all, each by its weight, until the amount is used up: whoever has all it can take drops out, in the
  // order of the level at which that is so. Returns what was given.
  double share(Nodes children, double amount) {
    const auto full_at = [this](std::size_t node) { return most_[node] / nodes_[node].weight; };
    std::ranges::sort(children, {}, full_at);
    double weight = 0;
    for (const std::size_t child : children) weight += nodes_[child].weight;
    double left = amount;
    for (const std::size_t child : children) {
      const double got = std::min(most_[child], left * nodes_[child].weight / weight);
      give(child, got);
      left -= got;
      weight -= nodes_[child].weight;
    }
    return amount - left;
  }

  std::span<const FluidNode> nodes_;
  std::vector<Nodes> children_;
  std::vector<double> guaranteed_;
  std::vector<double> most_;
  std::vector<double> excess_;
};

}  // namespace

std::vector<double> fluid_rates(std::span<const FluidNode> nodes) {
  return FluidTree(nodes).rates();
}

}  // namespace headgate
