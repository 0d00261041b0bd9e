#include "config/shape_reader.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/class_reader.hpp"
#include "config/different_names.hpp"
#include "config/interface_pattern.hpp"
#include "config/key_reader.hpp"
#include "config/known_keys.hpp"
#include "config/mark_grammar.hpp"
#include "config/shape_rules.hpp"
#include "config/table_reader.hpp"
#include "config/tree_rules.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMaxClasses = 4096;  // a packet is tried against one after the other; groups: likewise

void report(const std::vector<ShapeFinding>& shape_findings, const TableReader& reader) {
  for (const auto& [key, reading] : shape_findings) reader.findings().add(reader.place(key), key, reading);
}

// What a class asks of a packet. Classes that name the same networks share one set of them.
using Demands =
    std::tuple<std::string_view, std::uint64_t, const NetworkSet*, const NetworkSet*, std::string>;
constexpr unsigned kAllDemands = 0b11111;

// Equal for equal lists.
std::string kernel_demands_of(const Selectors& selectors) {
  std::string demands;
  for (const std::string& mark : mark_texts(selectors.marks)) demands += mark + '\n';
  for (const std::string& path : selectors.cgroups) demands += path + '\n';
  return demands;
}

// Of a class those in `kept`, a bit for each; the others are left out.
Demands demands_of(const ClassConfig& config, unsigned kept) {
  const Selectors& selectors = config.selectors;
  Demands demands;
  if (kept & 0b00001) std::get<0>(demands) = config.match;
  if (kept & 0b00010) std::get<1>(demands) = selectors.dscp;
  if (kept & 0b00100) std::get<2>(demands) = selectors.source.networks.get();
  if (kept & 0b01000) std::get<3>(demands) = selectors.destination.networks.get();
  if (kept & 0b10000) std::get<4>(demands) = kernel_demands_of(selectors);
  return demands;
}

void warn_of_idle_classes(const std::vector<ClassConfig>& classes, const std::vector<TableReader>& readers,
                          Findings& findings) {
  std::map<Demands, const ClassConfig*>
      by_demands;  // of those that ask the same the first, or the first with control
  // The class that asks nothing that this one does not ask, too. A class without `control` leaves control traffic to the
  // classes behind it.
  const auto class_before = [&](const ClassConfig& config) -> const ClassConfig* {
    for (unsigned kept = 0; kept <= kAllDemands; ++kept) {
      const auto found = by_demands.find(demands_of(config, kept));
      if (found != by_demands.end() && (found->second->control || !config.control)) return found->second;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (const ClassConfig* earlier = class_before(classes[i])) {
      findings.add_warning(readers[i].place(), "class " + quoted(classes[i].name) +
                                                   " never gets a packet: the class " +
                                                   quoted(earlier->name) + " before it takes them all");
      continue;
    }
    by_demands[demands_of(classes[i], kAllDemands)] = &classes[i];
  }
}

bool are_too_many(std::size_t count, std::string_view key, const std::string& noun,
                  const TableReader& reader) {
  if (count <= kMaxClasses) return false;
  reader.findings().add_error(reader.place(key), "the shape has " + std::to_string(count) + " " + noun +
                                                     ", expected at most " + std::to_string(kMaxClasses));
  return true;
}

std::vector<TableReader> read_groups(const TableReader& reader, BudgetReader& budgets, ShapeConfig& config) {
  std::vector<TableReader> readers = reader.each_table("group", "shape.group");
  if (are_too_many(readers.size(), "group", "groups", reader)) return {};
  for (const TableReader& table : readers) {
    report_unknown_keys(table.table(), TableKind::shape_group, table.findings());
    GroupConfig& group = config.groups.emplace_back();
    for (const GroupKey& key : group_keys()) read_key(key, "group", table, group);
    if (const auto floor = budgets.floor_of(table, group.place.budget, "ceiling"))
      group.place.ceiling = floor;
  }
  return readers;
}

std::vector<TableReader> read_classes(const TableReader& reader, NetworkLists& lists, BudgetReader& budgets,
                                      ShapeConfig& config) {
  Findings& findings = reader.findings();
  const bool link = reader.has("rate") || reader.has("budget");
  std::vector<TableReader> readers = reader.each_table("class", "shape.class");
  const toml::node* list = reader.table().get("class");
  if (!link && (list == nullptr || (list->is_array() && list->as_array()->empty()))) {
    findings.add_error(
        reader.place(),
        "the shape has no class and would shape nothing, expected at least one [[shape.class]] below it");
  }
  if (are_too_many(readers.size(), "class", "classes", reader)) return {};
  const std::size_t errors_before = findings.errors();
  for (const TableReader& table : readers)
    config.classes.push_back(read_class(table.table(), link, lists, budgets, findings));
  check_names_differ("class", config.classes, readers);
  if (findings.errors() == errors_before) warn_of_idle_classes(config.classes, readers, findings);
  return readers;
}

}  // namespace

// Each instance of a pattern would use all that the host is granted.
void refuse_budget_of_pattern(const ShapeConfig& shape, const TableReader& table, BudgetReader& budgets) {
  budgets.refuse(table, "does not go with interface = " + quoted(shape.interface) +
                            ": each interface that matches would use all that this host is granted; expected "
                            "the name of one interface");
}

void refuse_budgets_of_pattern(const ShapeConfig& shape, const TableReader& reader,
                               const std::vector<TableReader>& groups,
                               const std::vector<TableReader>& classes, BudgetReader& budgets) {
  if (!is_interface_pattern(shape.interface)) return;
  if (reader.has("budget")) refuse_budget_of_pattern(shape, reader, budgets);
  for (const TableReader& table : groups)
    if (table.has("budget")) refuse_budget_of_pattern(shape, table, budgets);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::vector<PlanConfig>& plans = shape.classes[i].plans;
    const bool of_plan =
        std::any_of(plans.begin(), plans.end(), [](const PlanConfig& plan) { return !plan.budget.empty(); });
    if (of_plan || classes[i].has("budget")) refuse_budget_of_pattern(shape, classes[i], budgets);
  }
}

ShapeConfig read_shape(const toml::table& table, NetworkLists& lists, BudgetReader& budgets,
                       Findings& findings) {
  report_unknown_keys(table, TableKind::shape, findings);
  const TableReader reader(table, findings);
  ShapeDraft shape;
  for (const ShapeKey& key : shape_keys()) read_key(key, "shape", reader, shape);
  if (const auto floor = budgets.floor_of(reader, shape.budget, "rate")) shape.rate = floor;
  report(settle_shape(shape), reader);
  const std::size_t errors_before = findings.errors();
  const std::vector<TableReader> groups = read_groups(reader, budgets, shape);
  const std::vector<TableReader> classes = read_classes(reader, lists, budgets, shape);
  refuse_budgets_of_pattern(shape, reader, groups, classes, budgets);
  check_tree(shape, {.shape = reader, .groups = groups, .classes = classes});
  if (findings.errors() == errors_before) report(check_accounting(shape), reader);
  if (shape.rate) shape.classes.push_back(default_class());
  return shape;
}

}  // namespace headgate
