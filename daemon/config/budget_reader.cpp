#include "config/budget_reader.hpp"

#include <utility>

#include "config/key_reader.hpp"
#include "config/known_keys.hpp"
#include "config/names.hpp"
#include "config/quantity_text.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

// The floors of all hosts are kept free, so that a host that is cut off may use its own.
void check_floors(const TableReader& table, const BudgetTerms& terms) {
  const std::uint64_t rate = terms.rate.bits_per_second;
  const std::uint64_t floor = terms.floor.bits_per_second;
  if (rate == 0 || floor == 0 || floor <= rate / terms.hosts) return;
  table.findings().add_error(
      table.place("floor"), "floor: " + quoted(to_text(terms.floor)) + " for each of " +
                                std::to_string(terms.hosts) + " hosts is more than the rate of the budget, " +
                                quoted(to_text(terms.rate)) + ", expected at most " +
                                quoted(to_text(BitRate{rate / terms.hosts})) + ", or fewer hosts");
}

}  // namespace

void BudgetReader::read(const TableReader& root) {
  const toml::table* const tables = root.table("budget", "budget.NAME");
  if (tables == nullptr) return;
  if (tables->size() > kMaxBudgets) {
    findings_.add_error(root.place("budget"), "there are " + std::to_string(tables->size()) +
                                                  " budgets, expected at most " +
                                                  std::to_string(kMaxBudgets));
    return;
  }
  for (const auto& [key, node] : *tables) {
    const std::string name(key.str());
    const Place place{key.source().begin.line, key.source().begin.column, key.source().path};
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      findings_.add_error(
          place, "budget." + name + " is no table, expected [budget." + name + "] with its keys below");
      continue;
    }
    if (const Reading reading = check_budget_name(name); !reading.ok()) {
      findings_.add_error(place, "budget: " + reading.error);
      continue;
    }
    read_budget(name, TableReader(*table, findings_));
  }
}

void BudgetReader::read_budget(const std::string& name, const TableReader& table) {
  report_unknown_keys(table.table(), TableKind::budget, findings_);
  BudgetConfig config{.name = name};
  for (const BudgetKey& key : budget_keys()) read_key(key, "budget", table, config);
  check_floors(table, config.terms);
  budgets_.emplace(name, Budget{.config = std::move(config), .place = table.place()});
}

std::optional<BitRate> BudgetReader::floor_of(const TableReader& table, const std::string& budget,
                                              std::string_view instead_of) {
  if (budget.empty()) return std::nullopt;
  if (table.has(instead_of)) {
    refuse(table, "goes in place of " + std::string(instead_of) + ", expected one of the two");
    return std::nullopt;
  }
  const auto found = budgets_.find(budget);
  if (found == budgets_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, one] : budgets_) names.emplace_back(name);
    refuse(table, names.empty()
                      ? quoted(budget) + " is no budget of the file, which has none: expected [budget." +
                            budget + "] with rate, floor, hosts and redis"
                      : quoted(budget) + " is no budget of the file: " + suggest(budget, names));
    return std::nullopt;
  }
  Budget& one = found->second;
  if (one.used) {
    refuse(table,
           quoted(budget) + " is named in line " + std::to_string(one.used->line) +
               " already, and each would use all that this host is granted: expected another budget here");
    return std::nullopt;
  }
  one.used = table.place("budget");
  return one.config.terms.floor;
}

void BudgetReader::refuse(const TableReader& table, const std::string& why) {
  findings_.add_error(table.place("budget"), "budget: " + why);
}

std::vector<BudgetConfig> BudgetReader::budgets() const {
  std::vector<BudgetConfig> budgets;
  for (const auto& [name, one] : budgets_) {
    if (!one.used && findings_.errors() == 0)  // else its place may be what was refused
      findings_.add_warning(one.place, "budget " + quoted(name) +
                                           " limits nothing; a shape, a group or a class goes by it "
                                           "by budget = " +
                                           quoted(name));
    budgets.push_back(one.config);
  }
  return budgets;
}

}  // namespace headgate
