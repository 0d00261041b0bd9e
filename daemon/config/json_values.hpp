// Values of the configuration as the JSON of schema 1 has them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headgate {

// The elements of a quantity's text (quantity_text.hpp): one that stands bare, or a list as in the file.
nlohmann::ordered_json list_json(const std::string& text);

nlohmann::ordered_json text_or_null(const std::string& text);  // null: it is empty

}  // namespace headgate
