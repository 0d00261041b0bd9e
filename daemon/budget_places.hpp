// Where budgets limit: which rate of which shape goes by which budget. Pure.
#pragma once

#include <map>
#include <string>

#include "core/leased_rate.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

struct BudgetPlace {
  std::string interface;
  Direction direction = Direction::egress;
  RatePlace rate;       // its numbers may be another's after a reload
  std::string owner{};  // the group, the class, or class and plan, by name
  bool is_where(const BudgetPlace& other) const {
    return interface == other.interface && direction == other.direction && rate.kind == other.rate.kind &&
           owner == other.owner;
  }
};

// By budget. A budget that nothing names has none.
std::map<std::string, BudgetPlace> budget_places(const Config& config);

}  // namespace headgate
