// Puts a drop-in on top of what was read before it.
//
//   [daemon]                       its keys take the place of those before
//   [[shape]]                      one of an interface and direction that is there already: its keys take the place of those
//                                  before; else a shape of its own
//   [[shape.group]], [[shape.class]], [[shape.class.plan]]
//                                  one of a name that is there already: its keys take the place of those before; else groups
//                                  and plans come last, and classes first, before all that were there
//
// Each value keeps the place where it was read, for messages.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "vocabulary/config.hpp"

namespace headgate {

void merge_into(toml::table& root, toml::table drop_in);

// What a shape's table says of its interface and direction, as far as it can be read.
struct ShapeName {
  std::string interface;
  Direction direction = Direction::egress;
  auto operator<=>(const ShapeName&) const = default;
};
ShapeName shape_name_of(const toml::table& shape);

// The tables of `key` in `table`; null: none, or something else stands there.
toml::array* tables_of(toml::table& table, std::string_view key);
// That has this name; null: none.
toml::table* named_table(toml::array* tables, std::string_view name);

// Puts `node` in the place of what the table has there, place in its file and all.
void put(toml::table& table, const toml::key& key, toml::node& node);

}  // namespace headgate
