// The plans of a class as the shaper runs them: what holds for a flow that has one, and who has which.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/bucket_parameters.hpp"
#include "core/member_table.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/flow_key.hpp"

namespace headgate {

struct ClassPlans {
  // Throws std::bad_alloc.
  explicit ClassPlans(const ClassConfig& config);

  PlanNumber plan_of(const FlowKey& key) const {
    return members.plan_of(by_source ? key.source : key.destination);
  }

  std::vector<BucketParameters> parameters;  // by plan
  std::vector<QueueCapacity> queues;         // by plan
  MemberTable members;
  bool by_source;        // the key's address; else the destination
  bool changed = false;  // at run time: the class's configuration does not name these members
};

// Null: the class has none.
std::unique_ptr<ClassPlans> make_class_plans(const ClassConfig& config);

// How many members a table for so many has room for, so that some can be added at run time.
inline std::size_t member_room(std::size_t members) {
  return std::max<std::size_t>(64, members + members / 2);
}

// The key that all addresses of the member have, as the class's KeySpec cuts them. None: they have several keys.
std::optional<FlowKey> only_key_of(const Prefix& member, const KeySpec& spec);

}  // namespace headgate
