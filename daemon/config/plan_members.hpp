// The members of the plans of one class, as they are read. A network is a member of one plan only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "config/network_lists.hpp"
#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class PlanMembers {
 public:
  // `key` is that of the class. What is added belongs to the last of `plans`.
  PlanMembers(const KeySpec& key, const std::vector<PlanConfig>& plans) : key_(key), plans_(plans) {}

  Reading add(const Prefix& prefix);
  Reading add(const Networks& networks);  // up to the first that is refused

  std::size_t size() const { return numbers_.size(); }
  MemberList list() const;

 private:
  const KeySpec& key_;
  const std::vector<PlanConfig>& plans_;
  std::map<Prefix, PlanNumber> numbers_;
};

}  // namespace headgate
