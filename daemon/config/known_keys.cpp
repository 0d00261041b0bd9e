#include "config/known_keys.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "config/suggestion.hpp"

namespace headgate {
namespace {

constexpr auto kFileKeys = std::to_array<std::string_view>({"daemon", "shape"});
constexpr auto kDaemonKeys =
    std::to_array<std::string_view>({"divert", "mark", "memory", "max_flows", "idle", "control", "workers"});
constexpr auto kShapeKeys = std::to_array<std::string_view>(
    {"interface", "direction", "forward_to", "qdisc_bypass", "segmentation", "capture", "precision",
     "workers", "overhead", "mpu", "control_limit", "class"});
constexpr auto kClassKeys = std::to_array<std::string_view>(
    {"name", "match", "dscp", "src", "dst", "key", "rate", "burst", "queue", "bypass", "control"});

struct KnownTable {
  std::string_view place;  // with its preposition
  std::span<const std::string_view> keys;
};

// By TableKind.
constexpr std::array<KnownTable, 4> kTables = {{{"at the top of the file", kFileKeys},
                                                {"in [daemon]", kDaemonKeys},
                                                {"in [[shape]]", kShapeKeys},
                                                {"in [[shape.class]]", kClassKeys}}};

const KnownTable* table_with(std::string_view key) {
  for (const KnownTable& table : kTables) {
    if (std::find(table.keys.begin(), table.keys.end(), key) != table.keys.end()) return &table;
  }
  return nullptr;
}

// A key that is right elsewhere is misplaced: in TOML it belongs to the table whose header stands above it.
std::string describe(std::string_view key, const KnownTable& table) {
  const std::string subject = quoted(key);
  if (nearest_word(key, table.keys)) {
    return "unknown key " + subject + " " + std::string(table.place) + ": " + suggest(key, table.keys);
  }
  if (key == "class")
    return "\"class\" stands outside of a shape, expected [[shape.class]] below its [[shape]]";
  if (const KnownTable* right = table_with(key)) {
    return subject + " does not belong " + std::string(table.place) + ", but " + std::string(right->place);
  }
  return "unknown key " + subject + " " + std::string(table.place) + ", " + suggest(key, table.keys);
}

}  // namespace

void report_unknown_keys(const toml::table& table, TableKind kind, Findings& findings) {
  const KnownTable& known = kTables[static_cast<std::size_t>(kind)];
  for (const auto& [key, value] : table) {
    if (std::find(known.keys.begin(), known.keys.end(), key.str()) != known.keys.end()) continue;
    const auto& begin = key.source().begin;
    findings.add_error({begin.line, begin.column}, describe(key.str(), known));
  }
}

}  // namespace headgate
