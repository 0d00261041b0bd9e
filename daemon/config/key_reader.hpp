// One key of a table of the file, read by its row.
#pragma once

#include <string>
#include <string_view>

#include "config/keys.hpp"
#include "config/table_reader.hpp"

namespace headgate {

// `noun` is what the table stands for: "class".
template <typename Draft, typename Config>
void read_key(const Key<Draft, Config>& key, std::string_view noun, const TableReader& table, Draft& draft) {
  if (key.read != nullptr) key.read(Said(key.name, key.example, table), draft);
  if (!key.required || table.has(key.name)) return;
  const std::string name(key.name);
  table.findings().add_error(table.place(), std::string("the ").append(noun) + " has no " + name +
                                                ", expected one such as " + name + " = " +
                                                std::string(key.example));
}

}  // namespace headgate
