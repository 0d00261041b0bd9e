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
  RatePlace rate;
  std::string owner{};  // the class, or class and plan, whose numbers may be another's after a reload
  bool operator==(const BudgetPlace&) const = default;
};

// By budget. A budget that nothing names has none.
std::map<std::string, BudgetPlace> budget_places(const Config& config);

}  // namespace headgate
