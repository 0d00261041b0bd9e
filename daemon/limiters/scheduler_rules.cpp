#include "limiters/scheduler_rules.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace headgate {
namespace {

constexpr Duration kLongestInterval = std::chrono::days(365);
constexpr std::size_t kMostNodes = std::size_t{1} << 24;
constexpr std::uint32_t kMostFlows = std::uint32_t{1} << 30;

void require(bool kept, const std::string& where, const char* rule) {
  if (!kept) throw std::invalid_argument(where + ": " + rule);
}

void check_bits(const std::optional<BitRate>& rate, const std::string& where, const char* rule) {
  require(!rate || (*rate >= BitRate{1} && *rate <= kMaxBitRate), where, rule);
}

// Of a group or a class; `groups` stand before it.
template <typename Place>
void check_place(const Place& place, std::size_t groups, const std::string& where) {
  require(!place.parent || *place.parent < groups, where, "the parent must be a group that stands before it");
  require(place.priority <= Scheduler::kLastPriority, where, "a priority is from 0 to 7");
  require(place.weight >= 1 && place.weight <= Scheduler::kMostWeight, where, "a weight is from 1 to 10 000");
  check_bits(place.ceiling, where, "a ceiling is from 1 to 400 000 000 000 bit/s");
}

void check_flow_rate(const Scheduler::FlowRate& rate, const std::string& where) {
  require(!rate.packets || (rate.packets->packets >= 1 && rate.packets->packets <= kMaxPacketRate.packets),
          where, "a packet rate is from 1 to 1 000 000 000 in some seconds");
  require(!rate.packets || (rate.packets->seconds >= 1 && rate.packets->seconds <= 86'400), where,
          "a packet rate is one in 1 to 86 400 seconds");
  check_bits(rate.bits, where, "a flow's bit rate is from 1 to 400 000 000 000 bit/s");
}

void check_class(const Scheduler::Class& config, const std::string& where) {
  check_bits(config.guarantee, where, "a guarantee is from 1 to 400 000 000 000 bit/s");
  check_flow_rate(config.flow_rate, where);
  require(config.queue.items >= 1, where, "a queue has room for an item at least");
  require(!config.queue.bytes || config.queue.bytes->bytes >= 1, where,
          "a queue has room for a byte at least");
  require(config.quantum >= 1 && config.quantum <= Scheduler::kMostUnits, where,
          "a quantum is from 1 to 33 554 431 bytes");
  if (!config.codel) return;
  const auto is_right = [](Duration time) { return time > Duration::zero() && time <= kLongestInterval; };
  require(is_right(config.codel->target) && is_right(config.codel->interval), where,
          "a target and an interval are above 0 and at most a year");
}

std::string name_of(TreeNode node, std::size_t groups) {
  if (node == kLink) return "the link";
  return node <= groups ? "group " + std::to_string(node - 1) : "class " + std::to_string(node - 1 - groups);
}

void check_guarantees(const std::vector<TreeNodeConfig>& nodes, std::size_t groups) {
  std::vector<std::uint64_t> guaranteed(nodes.size());
  for (auto node = static_cast<TreeNode>(nodes.size() - 1);; --node) {
    const TreeNodeConfig& config = nodes[node];
    if (config.guarantee) guaranteed[node] += config.guarantee->bits_per_second;
    require(guaranteed[node] == 0 || nodes[kLink].ceiling, name_of(node, groups),
            "a guarantee needs a rate of the link");
    require(!config.ceiling || guaranteed[node] <= config.ceiling->bits_per_second, name_of(node, groups),
            "more is guaranteed than the ceiling allows");
    if (node == kLink) return;
    guaranteed[config.parent] += guaranteed[node];
  }
}

template <typename Place>
TreeNodeConfig node_at(const Place& place) {
  return {.parent = place.parent ? *place.parent + 1 : kLink,
          .ceiling = place.ceiling,
          .priority = place.priority,
          .weight = place.weight};
}

}  // namespace

void check(const Scheduler::Config& config) {
  const std::string scheduler = "scheduler";
  require(config.groups.size() + config.classes.size() < kMostNodes, scheduler,
          "at most 16 777 214 groups and classes");
  require(config.max_flows <= kMostFlows && config.max_items < 0xffff'ffff, scheduler,
          "at most 1 073 741 824 flows and 4 294 967 294 items");
  require(config.catch_up >= Duration::zero() && config.catch_up <= kLongestInterval, scheduler,
          "a time to catch up is from 0 to a year");
  check_bits(config.rate, scheduler, "a rate of the link is from 1 to 400 000 000 000 bit/s");
  for (std::size_t i = 0; i < config.groups.size(); ++i)
    check_place(config.groups[i], i, "group " + std::to_string(i));
  for (std::size_t i = 0; i < config.classes.size(); ++i) {
    const std::string where = "class " + std::to_string(i);
    check_place(config.classes[i], config.groups.size(), where);
    check_class(config.classes[i], where);
  }
  check_guarantees(tree_nodes(config), config.groups.size());
}

std::vector<TreeNodeConfig> tree_nodes(const Scheduler::Config& config) {
  std::vector<TreeNodeConfig> nodes{{.ceiling = config.rate}};
  nodes.reserve(1 + config.groups.size() + config.classes.size());
  for (const Scheduler::Group& group : config.groups) nodes.push_back(node_at(group));
  for (const Scheduler::Class& each : config.classes) {
    nodes.push_back(node_at(each));
    nodes.back().guarantee = each.guarantee;
  }
  return nodes;
}

}  // namespace headgate
