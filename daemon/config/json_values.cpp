#include "config/json_values.hpp"

#include <nlohmann/json.hpp>

namespace headgate {

using Json = nlohmann::ordered_json;

Json list_json(const std::string& text) {
  if (text.empty()) return Json::array();
  if (text.front() == '[') return Json::parse(text);  // a list of texts in TOML is one in JSON
  return Json::array({text});
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace headgate
