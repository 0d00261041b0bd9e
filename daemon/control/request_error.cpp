#include "control/request_error.hpp"

#include <optional>
#include <utility>

#include "config/suggestion.hpp"
#include "vocabulary/control_message.hpp"

namespace headgate {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "\"";
  result += text.substr(0, kLongest);
  if (text.size() > kLongest) result += "...";
  return result + "\"";
}

RequestError unknown_class(std::string_view name, std::vector<std::string> classes) {
  RequestError error{kErrorUnknownClass, "no class " + in_quotes(name), std::move(classes)};
  std::vector<std::string_view> names(error.details.begin(), error.details.end());
  for (const std::string_view full : error.details) names.push_back(full.substr(full.rfind('/') + 1));
  const std::optional<std::string_view> nearest = nearest_word(name, names);
  if (error.details.empty()) {
    error.message += ": no class is configured";
  } else if (nearest) {
    error.message += ", did you mean " + in_quotes(*nearest) + "? The classes are:";
  } else {
    error.message += ", the classes are:";
  }
  return error;
}

RequestError ambiguous_class(std::string_view name, std::vector<std::string> candidates) {
  return {kErrorAmbiguousClass, "class " + in_quotes(name) + " may be any of:", std::move(candidates)};
}

}  // namespace headgate
