// Tables of one list, told apart by their names.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/reading.hpp"
#include "config/table_reader.hpp"

namespace headgate {

// `readers` are the tables of `configs`, `noun` is what one stands for: "class". Those without a name are left out.
template <typename Config>
void check_names_differ(std::string_view noun, const std::vector<Config>& configs,
                        const std::vector<TableReader>& readers) {
  std::map<std::string_view, std::size_t> lines;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (configs[i].name.empty()) continue;
    const Place place = readers[i].place("name");
    const auto [first, is_new] = lines.emplace(configs[i].name, place.line);
    if (is_new) continue;
    readers[i].findings().add_error(place, "name: " + quoted(configs[i].name) + " is the name of the " +
                                               std::string(noun) + " in line " +
                                               std::to_string(first->second) + " already, expected another");
  }
}

}  // namespace headgate
