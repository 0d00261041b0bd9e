#include "control/request_members.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "config/choices.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {

using Json = nlohmann::ordered_json;

RequestError bad_request(std::string message) {
  return {kErrorBadRequest, std::move(message), {}};
}

const Json& member(const Json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end()) throw bad_request("the request has no member " + in_quotes(name));
  return *found;
}

std::string text(const Json& value, const char* name) {
  if (value.is_string()) return value.get<std::string>();
  throw bad_request("member " + in_quotes(name) + " is not a string");
}

std::string text_or_nothing(const Json& request, const char* name) {
  const auto found = request.find(name);
  return found == request.end() ? "" : text(*found, name);
}

std::optional<Direction> direction_of(const Json& request) {
  const std::string said = text_or_nothing(request, "direction");
  if (said.empty()) return std::nullopt;
  Direction direction{};
  const Reading reading = read_direction(said, direction);
  if (!reading.ok()) throw bad_request("direction: " + reading.error);
  return direction;
}

}  // namespace headgate
