// The [[shape.class.plan]] of one class.
#pragma once

#include "config/budget_reader.hpp"
#include "config/keys.hpp"
#include "config/table_reader.hpp"

namespace headgate {

// `reader` is the table of the class, all else of which `draft` has.
void read_plans(const TableReader& reader, BudgetReader& budgets, ClassDraft& draft);

}  // namespace headgate
