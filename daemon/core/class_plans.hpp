// The plans of a class as the shaper runs them: what holds for a flow that has one, and who has which.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/bucket_parameters.hpp"
#include "core/member_table.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/flow_key.hpp"

namespace headgate {

struct ClassPlans {
  // The one flow of a plan whose members are together.
  struct CommonFlow {
    FlowKey key;
    std::uint32_t hash = 0;  // of the key alone: nobody else chooses the names of plans
    bool exists = false;     // the members are together
    bool left = false;       // addresses have left the plan, and their packets may wait in it
  };

  // Throws std::bad_alloc.
  explicit ClassPlans(const ClassConfig& config);

  const MemberTable::Address& address_of(const FlowKey& key) const {
    return by_source ? key.source : key.destination;
  }
  // Of an address's key, or of a plan's: kNoPlan where there is no such plan with its members together.
  PlanNumber plan_of(const FlowKey& key) const {
    return is_plan_key(key) ? plan_with(key) : members.plan_of(address_of(key));
  }
  PlanNumber plan_with(const FlowKey& plan_key) const;
  bool is_together(PlanNumber plan) const { return plan != kNoPlan && common_flows[plan].exists; }

  std::vector<BucketParameters> parameters;  // by plan
  std::vector<QueueCapacity> queues;         // by plan
  std::vector<CommonFlow> common_flows;      // by plan
  std::vector<PlanNumber> together;          // those with a common flow, in order of their keys
  MemberTable members;
  bool by_source;        // the key's address; else the destination
  bool changed = false;  // at run time: the class's configuration does not name these members
};

// Stands for the plan of that name, in any class.
FlowKey plan_key(std::string_view name);

// Null: the class has none.
std::unique_ptr<ClassPlans> make_class_plans(const ClassConfig& config);

// How many members a table for so many has room for, so that some can be added at run time.
inline std::size_t member_room(std::size_t members) {
  return std::max<std::size_t>(64, members + members / 2);
}

// The key that all addresses of the member have, as the class's KeySpec cuts them. None: they have several keys.
std::optional<FlowKey> only_key_of(const Prefix& member, const KeySpec& spec);

}  // namespace headgate
