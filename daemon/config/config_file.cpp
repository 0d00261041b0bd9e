#include "config/config_file.hpp"

#include <toml++/toml.h>

#include <utility>

#include "config/file_text.hpp"
#include "config/findings.hpp"
#include "config/kernel_selectors.hpp"
#include "config/key_reader.hpp"
#include "config/known_keys.hpp"
#include "config/match_check.hpp"
#include "config/memory_bounds.hpp"
#include "config/network_lists.hpp"
#include "config/shape_conflicts.hpp"
#include "config/shape_reader.hpp"
#include "config/syntax_error.hpp"
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

std::vector<ShapeConfig> read_shapes(const toml::array& tables, NetworkLists& lists, Findings& findings) {
  std::vector<PlacedShape> shapes;
  for (const toml::node& node : tables) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    const TableReader reader(*table, findings);
    shapes.push_back(
        {read_shape(*table, lists, findings), reader.place("interface"), reader.place("forward_to")});
  }
  check_shapes_together(shapes, findings);
  std::vector<ShapeConfig> configs;
  configs.reserve(shapes.size());
  for (PlacedShape& shape : shapes) configs.push_back(std::move(shape.config));
  return configs;
}

Config read_config(const toml::table& root, const Surroundings& surroundings, Findings& findings) {
  report_unknown_keys(root, TableKind::file, findings);
  const TableReader reader(root, findings);
  Config config;
  if (const toml::table* daemon = reader.table("daemon", "daemon"))
    config.daemon = read_daemon(*daemon, findings);
  if (const toml::array* shapes = reader.tables("shape", "shape")) {
    NetworkLists lists(surroundings.meanwhile);
    config.shapes = read_shapes(*shapes, lists, findings);
    check_kernel_selectors(*shapes, config.shapes, findings);
    CompiledMatches own;
    check_matches(*shapes, surroundings.matches != nullptr ? *surroundings.matches : own,
                  surroundings.meanwhile, findings);
  }
  if (surroundings.memory && findings.errors() == 0)
    check_memory_bounds(root, config, *surroundings.memory, findings);
  return config;
}

}  // namespace

std::string ConfigError::to_string() const {
  if (line == 0) return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

ConfigResult parse_config(std::string_view text, const std::string& file_name,
                          const Surroundings& surroundings) {
  ConfigResult result;
  if (const auto error = check_characters(text)) {
    result.errors.push_back({file_name, error->place.line, error->place.column, error->message});
    return result;
  }
  try {
    const toml::table root = toml::parse(text, file_name);
    Findings findings(file_name);
    result.config = read_config(root, surroundings, findings);
    findings.hand_over(result);
  } catch (const toml::parse_error& exception) {
    SyntaxError error = describe(exception, text);
    result.errors.push_back({file_name, error.place.line, error.place.column, std::move(error.message)});
  }
  return result;
}

ConfigResult load_config(const std::string& path, FileUse use, const Surroundings& surroundings) {
  std::string text;
  const std::string name = use == FileUse::once && path == kStandardInput ? "standard input" : path;
  if (std::string problem = read_file_text(path, use, text); !problem.empty()) {
    ConfigResult result;
    result.errors.push_back({name, 0, 0, std::move(problem)});
    return result;
  }
  return parse_config(text, name, surroundings);
}

}  // namespace headgate
