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
};

// By budget. A budget that nothing names has none.
std::map<std::string, BudgetPlace> budget_places(const Config& config);

}  // namespace headgate
