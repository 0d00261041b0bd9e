// The tables [budget.NAME], and what of shapes goes by them.
#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/findings.hpp"
#include "config/table_reader.hpp"
#include "vocabulary/budget.hpp"

namespace headgate {

class BudgetReader {
 public:
  explicit BudgetReader(Findings& findings) : findings_(findings) {}

  // Of the whole file. What is wrong is reported.
  void read(const TableReader& root);

  // What goes by a budget has its floor until it is granted more. None: the table has no `budget`, or not one that can be had,
  // which is reported. `instead_of`: the key that does not go with it.
  std::optional<BitRate> floor_of(const TableReader& table, const std::string& budget,
                                  std::string_view instead_of);
  void refuse(const TableReader& table, const std::string& why);

  // Of those that nothing goes by, too, which is warned of.
  std::vector<BudgetConfig> budgets() const;

 private:
  struct Budget {
    BudgetConfig config;
    Place place;
    std::optional<Place> used{};  // by whom
  };

  void read_budget(const std::string& name, const TableReader& table);

  Findings& findings_;
  std::map<std::string, Budget, std::less<>> budgets_;
};

}  // namespace headgate
