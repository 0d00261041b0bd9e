#include "config/config_merge.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "config/choices.hpp"

namespace headgate {
namespace {

using MergeTable = void (*)(toml::table& into, toml::table& from);
using Find = toml::table* (*)(toml::array& tables, std::size_t known, const toml::table& like);

toml::table* find_named(toml::array& tables, std::size_t known, const toml::table& like) {
  const auto name = like["name"].value<std::string>();
  for (std::size_t i = 0; name && i < known; ++i) {
    toml::table* const table = tables[i].as_table();
    if (table != nullptr && (*table)["name"].value<std::string>() == name) return table;
  }
  return nullptr;
}

toml::table* find_shape(toml::array& tables, std::size_t known, const toml::table& like) {
  const ShapeName name = shape_name_of(like);
  for (std::size_t i = 0; i < known; ++i) {
    toml::table* const table = tables[i].as_table();
    if (table != nullptr && shape_name_of(*table) == name) return table;
  }
  return nullptr;
}

enum class Place { first, last };

// Two of one name in one drop-in stay two, which is reported where they are read.
void merge_tables(toml::array& into, toml::array& from, Find find, MergeTable merge, Place place) {
  const std::size_t known = into.size();
  std::vector<toml::table> added;
  for (toml::node& node : from) {
    toml::table* const table = node.as_table();
    if (table == nullptr) continue;
    if (toml::table* const same = find(into, known, *table)) {
      merge(*same, *table);
    } else {
      added.push_back(std::move(*table));
    }
  }
  std::size_t position = place == Place::first ? 0 : into.size();
  for (toml::table& table : added)
    into.insert(into.cbegin() + static_cast<std::ptrdiff_t>(position++), std::move(table));
}

// Where both have tables there; else the drop-in's value stands.
bool merge_lists(toml::table& into, const toml::key& key, toml::node& node, Find find, MergeTable merge,
                 Place place) {
  toml::array* const before = tables_of(into, key.str());
  toml::array* const tables = node.as_array();
  if (before == nullptr || tables == nullptr) return false;
  merge_tables(*before, *tables, find, merge, place);
  return true;
}

void merge_keys(toml::table& into, toml::table& from) {
  for (auto&& [key, node] : from) put(into, key, node);
}

void merge_class(toml::table& into, toml::table& from) {
  for (auto&& [key, node] : from) {
    const bool merged =
        key.str() == "plan" && merge_lists(into, key, node, find_named, merge_keys, Place::last);
    if (!merged) put(into, key, node);
  }
}

void merge_shape(toml::table& into, toml::table& from) {
  for (auto&& [key, node] : from) {
    const bool merged =
        (key.str() == "class" && merge_lists(into, key, node, find_named, merge_class, Place::first)) ||
        (key.str() == "group" && merge_lists(into, key, node, find_named, merge_keys, Place::last));
    if (!merged) put(into, key, node);
  }
}

}  // namespace

ShapeName shape_name_of(const toml::table& shape) {
  ShapeName name{.interface = shape["interface"].value_or(std::string())};
  if (shape.contains("forward_to")) name.direction = Direction::ingress;
  if (const auto direction = shape["direction"].value<std::string>())
    read_direction(*direction, name.direction);
  return name;
}

toml::array* tables_of(toml::table& table, std::string_view key) {
  toml::node* const node = table.get(key);
  return node == nullptr ? nullptr : node->as_array();
}

toml::table* named_table(toml::array* tables, std::string_view name) {
  if (tables == nullptr) return nullptr;
  for (toml::node& node : *tables) {
    toml::table* const table = node.as_table();
    if (table != nullptr && (*table)["name"].value_or(std::string_view()) == name) return table;
  }
  return nullptr;
}

void put(toml::table& table, const toml::key& key, toml::node& node) {
  node.visit([&](auto& value) {
    table.erase(key.str());
    table.insert(key, std::move(value));
  });
}

// Tables of tables, told apart by their keys.
void merge_budgets(toml::table& into, toml::table& from) {
  for (auto&& [key, node] : from) {
    toml::table* const before = into[key.str()].as_table();
    toml::table* const table = node.as_table();
    if (before != nullptr && table != nullptr)
      merge_keys(*before, *table);
    else
      put(into, key, node);
  }
}

void merge_into(toml::table& root, toml::table drop_in) {
  for (auto&& [key, node] : drop_in) {
    toml::table* const before = root[key.str()].as_table();
    toml::table* const table = node.as_table();
    if (key.str() == "daemon" && before != nullptr && table != nullptr) {
      merge_keys(*before, *table);
    } else if (key.str() == "budget" && before != nullptr && table != nullptr) {
      merge_budgets(*before, *table);
    } else if (key.str() != "shape" || !merge_lists(root, key, node, find_shape, merge_shape, Place::last)) {
      put(root, key, node);
    }
  }
}

}  // namespace headgate
