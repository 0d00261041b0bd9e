#include "member_changes.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace headgate {
namespace {

std::span<const Member> all(const MemberList& list) {
  return list.members ? std::span(*list.members) : std::span<const Member>();
}

PlanNumber plan_in(const MemberList& list, const Prefix& prefix) {
  const auto members = all(list);
  const auto found =
      std::lower_bound(members.begin(), members.end(), prefix,
                       [](const Member& one, const Prefix& wanted) { return one.prefix < wanted; });
  return found != members.end() && found->prefix == prefix ? found->plan : kNoPlan;
}

std::vector<Member> merged(const MemberList& list, const std::map<Prefix, PlanNumber>& changes) {
  std::vector<Member> members;
  members.reserve(all(list).size() + changes.size());
  auto change = changes.begin();
  const auto add_changes = [&](const Prefix* before) {
    for (; change != changes.end() && (before == nullptr || change->first < *before); ++change)
      if (change->second != kNoPlan) members.push_back({change->first, change->second});
  };
  for (const Member& member : all(list)) {
    add_changes(&member.prefix);
    const bool is_changed = change != changes.end() && change->first == member.prefix;
    if (!is_changed) members.push_back(member);
  }
  add_changes(nullptr);
  return members;
}

std::vector<std::string> names_of(const std::vector<PlanConfig>& plans) {
  std::vector<std::string> names;
  names.reserve(plans.size());
  for (const PlanConfig& plan : plans) names.push_back(plan.name);
  return names;
}

}  // namespace

MemberChanges::ClassName MemberChanges::name_of(const ShapeConfig& shape, const ClassConfig& config) {
  return {shape.interface, shape.direction, config.name};
}

const MemberChanges::ClassChanges* MemberChanges::find(const ShapeConfig& shape,
                                                       const ClassConfig& config) const {
  const auto found = classes_.find(name_of(shape, config));
  return found == classes_.end() ? nullptr : &found->second;
}

MemberChanges::Result MemberChanges::change(const ShapeConfig& shape, const ClassConfig& config,
                                            const Member& member) {
  auto [place, is_new] = classes_.try_emplace(name_of(shape, config));
  ClassChanges& known = place->second;
  if (is_new)
    known = {.plans = names_of(config.plans),
             .in_file = config.members,
             .changes = {},
             .members = all(config.members).size()};
  const PlanNumber in_file = plan_in(known.in_file, member.prefix);
  const auto changed = known.changes.find(member.prefix);
  const PlanNumber before = changed == known.changes.end() ? in_file : changed->second;
  if (member.plan == before) return {Outcome::unchanged, before, known.members};
  if (before == kNoPlan && known.members >= kMaxMembers) return {Outcome::too_many, before, known.members};
  if (before == kNoPlan) ++known.members;
  if (member.plan == kNoPlan) --known.members;
  if (member.plan == in_file) {
    known.changes.erase(member.prefix);
  } else {
    known.changes[member.prefix] = member.plan;
  }
  return {Outcome::changed, before, known.members};
}

std::vector<Member> MemberChanges::members_of(const ShapeConfig& shape, const ClassConfig& config) const {
  const ClassChanges* known = find(shape, config);
  return known != nullptr ? merged(known->in_file, known->changes) : merged(config.members, {});
}

std::vector<Member> MemberChanges::since_in_force(const ShapeConfig& shape, const ClassConfig& config) const {
  std::vector<Member> since;
  const ClassChanges* known = find(shape, config);
  if (known == nullptr) return since;
  for (const auto& [prefix, plan] : known->changes)
    if (plan_in(config.members, prefix) != plan) since.push_back({prefix, plan});
  // What the file says again, and was in force otherwise.
  for (const Member& member : all(config.members)) {
    const PlanNumber in_file = plan_in(known->in_file, member.prefix);
    if (member.plan != in_file && !known->changes.contains(member.prefix))
      since.push_back({member.prefix, in_file});
  }
  return since;
}

MemberChanges::ClassChanges MemberChanges::going_on(const ClassChanges& before, const ClassConfig& next) {
  ClassChanges changes{
      .plans = names_of(next.plans), .in_file = next.members, .changes = {}, .members = 0, .given_up = 0};
  const auto name_before = [&before](PlanNumber plan) {
    return plan == kNoPlan ? std::string() : before.plans[plan];
  };
  const auto number_now = [&changes](const std::string& name) -> std::optional<PlanNumber> {
    if (name.empty()) return kNoPlan;
    const auto found = std::find(changes.plans.begin(), changes.plans.end(), name);
    if (found == changes.plans.end()) return std::nullopt;
    return static_cast<PlanNumber>(found - changes.plans.begin());
  };
  for (const auto& [prefix, plan] : before.changes) {
    const PlanNumber in_file = plan_in(next.members, prefix);
    const auto now = number_now(name_before(plan));
    const std::string in_file_before = name_before(plan_in(before.in_file, prefix));
    const std::string in_file_now = in_file == kNoPlan ? "" : changes.plans[in_file];
    if (in_file_before != in_file_now || now == in_file) continue;
    if (now && (now == kNoPlan || prefix.length <= length_kept(next.key, is_ipv4(prefix)))) {
      changes.changes.emplace(prefix, *now);
    } else {
      ++changes.given_up;
    }
  }
  changes.members = merged(changes.in_file, changes.changes).size();
  return changes;
}

MemberChanges MemberChanges::put_into(std::vector<ShapeConfig>& next,
                                      std::vector<std::string>& messages) const {
  MemberChanges going;
  for (ShapeConfig& shape : next) {
    for (ClassConfig& config : shape.classes) {
      const ClassChanges* known = find(shape, config);
      if (known == nullptr) continue;
      ClassChanges changes = going_on(*known, config);
      const std::string title = shape.interface + ", class " + config.name;
      if (changes.given_up > 0)
        messages.push_back(title + ": changes of " + std::to_string(changes.given_up) +
                           " members at run time are given up, for want of their plan or their key");
      if (changes.members > kMaxMembers)
        throw std::runtime_error(title + ": with those of run time it would have " +
                                 std::to_string(changes.members) + " members, expected at most " +
                                 std::to_string(kMaxMembers));
      if (changes.changes.empty()) continue;
      config.members.members =
          std::make_shared<const std::vector<Member>>(merged(changes.in_file, changes.changes));
      going.classes_.emplace(name_of(shape, config), std::move(changes));
    }
  }
  return going;
}

}  // namespace headgate
