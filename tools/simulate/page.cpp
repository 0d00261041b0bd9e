#include "page.hpp"

#include <nlohmann/json.hpp>

namespace headgate {
namespace {

void put_in(std::string& page, std::string_view place, std::string_view text) {
  page.replace(page.find(place), place.size(), text);
}

// So that nothing in it ends the element that it stands in.
std::string data_text(const nlohmann::ordered_json& report) {
  std::string text = report.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

// The data last: what they say is not looked through.
std::string page_of(const nlohmann::ordered_json& report) {
  std::string page(kPageHtml);
  put_in(page, "{{style}}", kPageStyle);
  put_in(page, "{{script}}", kPageScript);
  put_in(page, "{{data}}", data_text(report));
  return page;
}

}  // namespace headgate
