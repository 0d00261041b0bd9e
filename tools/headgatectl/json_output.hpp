// JSON on standard output.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace headgate {

enum class JsonLayout { readable, one_line };

// What is no UTF-8 is replaced, what cannot be seen is written as an escape of JSON. Throws as print().
void print_json(const nlohmann::ordered_json& json, JsonLayout layout = JsonLayout::readable);

}  // namespace headgate
