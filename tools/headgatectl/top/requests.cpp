#include "top/requests.hpp"

#include <nlohmann/json.hpp>

namespace headgate::top {

nlohmann::ordered_json show_request(const View& view) {
  return {{"command", "show"}, {"instances", view.instances}};
}

nlohmann::ordered_json flows_request(const std::string& class_name) {
  return {{"command", "flows"}, {"class", class_name}, {"limit", kFlowsAsked}};
}

}  // namespace headgate::top
