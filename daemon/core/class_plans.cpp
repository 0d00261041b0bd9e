#include "core/class_plans.hpp"

#include <span>

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
  }
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
