#include "config/config_reader.hpp"

#include <utility>

#include "config/budget_reader.hpp"
#include "config/kernel_selectors.hpp"
#include "config/key_reader.hpp"
#include "config/known_keys.hpp"
#include "config/match_check.hpp"
#include "config/memory_bounds.hpp"
#include "config/network_lists.hpp"
#include "config/shape_conflicts.hpp"
#include "config/shape_reader.hpp"
#include "config/table_reader.hpp"

namespace headgate {
namespace {

DaemonConfig read_daemon(const toml::table& table, Findings& findings) {
  report_unknown_keys(table, TableKind::daemon, findings);
  const TableReader reader(table, findings);
  DaemonConfig daemon;
  for (const DaemonKey& key : daemon_keys()) read_key(key, "daemon", reader, daemon);
  return daemon;
}

std::vector<ShapeConfig> read_shapes(const toml::array& tables, NetworkLists& lists, BudgetReader& budgets,
                                     Findings& findings) {
  std::vector<PlacedShape> shapes;
  for (const toml::node& node : tables) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    const TableReader reader(*table, findings);
    shapes.push_back({read_shape(*table, lists, budgets, findings), reader.place("interface"),
                      reader.place("forward_to")});
  }
  check_shapes_together(shapes, findings);
  std::vector<ShapeConfig> configs;
  configs.reserve(shapes.size());
  for (PlacedShape& shape : shapes) configs.push_back(std::move(shape.config));
  return configs;
}

}  // namespace

Config read_config(const toml::table& root, const Surroundings& surroundings, Findings& findings) {
  report_unknown_keys(root, TableKind::file, findings);
  const TableReader reader(root, findings);
  Config config;
  if (const toml::table* daemon = reader.table("daemon", "daemon"))
    config.daemon = read_daemon(*daemon, findings);
  BudgetReader budgets(findings);
  budgets.read(reader);
  if (const toml::array* shapes = reader.tables("shape", "shape")) {
    NetworkLists lists(surroundings.meanwhile);
    config.shapes = read_shapes(*shapes, lists, budgets, findings);
    check_kernel_selectors(*shapes, config.shapes, findings);
    CompiledMatches own;
    check_matches(*shapes, surroundings.matches != nullptr ? *surroundings.matches : own,
                  surroundings.meanwhile, findings);
  }
  config.budgets = budgets.budgets();
  if (surroundings.memory && findings.errors() == 0)
    check_memory_bounds(root, config, *surroundings.memory, findings);
  return config;
}

}  // namespace headgate
