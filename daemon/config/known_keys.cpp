#include "config/known_keys.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/keys.hpp"
#include "config/suggestion.hpp"

namespace headgate {
namespace {

// The keys of the whole file are its tables.
constexpr auto kFileKeys = std::to_array<std::string_view>({"daemon", "budget", "shape"});

template <typename Key>
std::vector<std::string_view> names_of(std::span<const Key> keys) {
  std::vector<std::string_view> names;
  names.reserve(keys.size());
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

struct KnownTable {
  std::string_view place;  // with its preposition
  std::vector<std::string_view> keys;
  std::string_view likely;  // a key of another table
  std::string_view meant;   // what that is called in this one
};

// By TableKind.
const std::vector<KnownTable>& known_tables() {
  static const std::vector<KnownTable> kTables = {
      {"at the top of the file", {kFileKeys.begin(), kFileKeys.end()}},
      {"in [daemon]", names_of(daemon_keys())},
      {"in [budget.NAME]", names_of(budget_keys())},
      {"in [[shape]]", names_of(shape_keys())},
      {"in [[shape.group]]", names_of(group_keys()), "group", "parent"},
      {"in [[shape.class]]", names_of(class_keys()), "parent", "group"},
      {"in [[shape.class.plan]]", names_of(plan_keys())}};
  return kTables;
}

// "in [daemon] or in [[shape]]"; empty: nowhere.
std::string places_of(std::string_view key) {
  std::string places;
  for (const KnownTable& table : known_tables()) {
    if (std::find(table.keys.begin(), table.keys.end(), key) == table.keys.end()) continue;
    places.append(places.empty() ? "" : " or ").append(table.place);
  }
  return places;
}

// A key that is right elsewhere is misplaced: in TOML it belongs to the table whose header stands above it.
std::string describe(std::string_view key, const KnownTable& table) {
  const std::string subject = quoted(key);
  if (key == table.likely) {
    return "unknown key " + subject + " " + std::string(table.place) + ": did you mean " +
           quoted(table.meant) + "?";
  }
  if (nearest_word(key, table.keys)) {
    return "unknown key " + subject + " " + std::string(table.place) + ": " + suggest(key, table.keys);
  }
  if (key == "class" || key == "group") {
    return subject + " stands outside of a shape, expected [[shape." + std::string(key) +
           "]] below its [[shape]]";
  }
  if (key == "plan")
    return subject + " stands outside of a class, expected [[shape.class.plan]] below its [[shape.class]]";
  if (const std::string right = places_of(key); !right.empty())
    return subject + " does not belong " + std::string(table.place) + ", but " + right;
  return "unknown key " + subject + " " + std::string(table.place) + ", " + suggest(key, table.keys);
}

}  // namespace

void report_unknown_keys(const toml::table& table, TableKind kind, Findings& findings) {
  const KnownTable& known = known_tables()[static_cast<std::size_t>(kind)];
  for (const auto& [key, value] : table) {
    if (std::find(known.keys.begin(), known.keys.end(), key.str()) != known.keys.end()) continue;
    const auto& begin = key.source().begin;
    findings.add_error({begin.line, begin.column, key.source().path}, describe(key.str(), known));
  }
}

}  // namespace headgate
