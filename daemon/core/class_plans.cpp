#include "core/class_plans.hpp"

#include <array>
#include <bit>
#include <span>

#include "core/classifier.hpp"

namespace headgate {
namespace {

std::span<const Member> members_of(const ClassConfig& config) {
  return config.members.members ? std::span(*config.members.members) : std::span<const Member>();
}

}  // namespace

ClassPlans::ClassPlans(const ClassConfig& config)
    : members(members_of(config), config.plans.size(), member_room(members_of(config).size())),
      by_source(config.key.source_address) {
  for (const PlanConfig& plan : config.plans) {
    parameters.emplace_back(plan.rate, plan.burst, config.link_layer);
    queues.push_back(plan.queue);
    const FlowKey key = plan_key(plan.name);
    common_flows.push_back({.key = key, .hash = hash_key(key, 0), .exists = plan.together});
    if (plan.together) together.push_back(static_cast<PlanNumber>(common_flows.size() - 1));
  }
  std::sort(together.begin(), together.end(), [this](PlanNumber one, PlanNumber other) {
    return common_flows[one].key.source < common_flows[other].key.source;
  });
}

PlanNumber ClassPlans::plan_with(const FlowKey& plan_key) const {
  const auto found = std::lower_bound(
      together.begin(), together.end(), plan_key,
      [this](PlanNumber one, const FlowKey& wanted) { return common_flows[one].key.source < wanted.source; });
  return found != together.end() && common_flows[*found].key == plan_key ? *found : kNoPlan;
}

// 128 bits of the name, so that a plan keeps its key when a reload moves it.
FlowKey plan_key(std::string_view name) {
  FlowKey key;
  key.source = std::bit_cast<std::array<std::uint8_t, 16>>(
      std::array{class_hash_seed(name, 1), class_hash_seed(name, 2)});
  key.protocol = kProtocolOfPlans;
  key.source_port = kPortOfPlans;
  return key;
}

std::unique_ptr<ClassPlans> make_class_plans(const ClassConfig& config) {
  return config.plans.empty() ? nullptr : std::make_unique<ClassPlans>(config);
}

std::optional<FlowKey> only_key_of(const Prefix& member, const KeySpec& spec) {
  if (spec.vlan || member.length != length_kept(spec, is_ipv4(member))) return std::nullopt;
  FlowKey key;
  (spec.source_address ? key.source : key.destination) = member.address;
  return key;
}

}  // namespace headgate
