#include "core/shaper_settings.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace headgate {

namespace {

// Of two limits, either of which may not be set, the lesser.
template <typename Limit>
std::optional<Limit> lesser(const std::optional<Limit>& one, const std::optional<Limit>& other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

std::optional<PacketRate> slower(const std::optional<PacketRate>& one,
                                 const std::optional<PacketRate>& other) {
  if (!one || !other) return one ? one : other;
  using Wide = unsigned __int128;
  return Wide{one->packets} * other->seconds < Wide{other->packets} * one->seconds ? one : other;
}

// From a class or group up to the link.
std::optional<BitRate> narrowest_above(const TreePlace& place, const ShapeConfig& config) {
  const auto parent = std::find_if(config.groups.begin(), config.groups.end(),
                                   [&](const GroupConfig& group) { return group.name == place.parent; });
  return lesser(place.ceiling,
                parent == config.groups.end() ? config.rate : narrowest_above(parent->place, config));
}

// Whichever plan a super-packet's flow has, it is cut as that needs it.
std::optional<PlanConfig> tightest_of(const ClassConfig& config) {
  if (config.plans.empty()) return std::nullopt;
  PlanConfig tightest{
      .name = {}, .rate = config.rate, .burst = {}, .queue = config.queue, .members_file = {}};
  for (const PlanConfig& plan : config.plans) {
    tightest.rate.packets = slower(tightest.rate.packets, plan.rate.packets);
    tightest.rate.bits = lesser(tightest.rate.bits, plan.rate.bits);
    tightest.queue.packets = lesser(tightest.queue.packets, plan.queue.packets);
    tightest.queue.bytes = lesser(tightest.queue.bytes, plan.queue.bytes);
    tightest.queue.time = lesser(tightest.queue.time, plan.queue.time);
  }
  return tightest;
}

// Each behind its parent.
std::vector<GroupConfig> parents_first(std::vector<GroupConfig> groups) {
  for (auto next = groups.begin(); next != groups.end();) {
    const auto has_parent = [&](const GroupConfig& group) {
      return group.place.parent.empty() || std::any_of(groups.begin(), next, [&](const GroupConfig& one) {
               return one.name == group.place.parent;
             });
    };
    const auto placed = std::stable_partition(next, groups.end(), has_parent);
    if (placed == next) break;
    next = placed;
  }
  return groups;
}

}  // namespace

std::vector<ClassConfig> classes_of(const ShapeConfig& config) {
  std::vector<ClassConfig> classes = config.classes;
  for (ClassConfig& one : classes) {
    one.link_layer = {.overhead = config.overhead, .mpu = config.mpu};
    one.narrowest = narrowest_above(one.place, config);
    one.tightest = tightest_of(one);
  }
  return classes;
}

TreeConfig tree_of(const ShapeConfig& config) {
  return {.rate = config.rate, .groups = parents_first(config.groups)};
}

}  // namespace headgate
