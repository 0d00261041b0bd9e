#include "json_output.hpp"

#include <nlohmann/json.hpp>

#include "output.hpp"
#include "visible_text.hpp"

namespace headgate {

void print_json(const nlohmann::ordered_json& json, JsonLayout layout) {
  const int indent = layout == JsonLayout::readable ? 2 : -1;
  print(visible_json(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

}  // namespace headgate
