// What becomes an error reply.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct RequestError {
  std::string_view code;  // of vocabulary/control_message.hpp
  std::string message;
  std::vector<std::string> details;
};

// A user's text as it appears in a message: short enough for a line of a terminal.
std::string in_quotes(std::string_view text);

// `classes`: the names in full of all there are.
RequestError unknown_class(std::string_view name, std::vector<std::string> classes);

RequestError ambiguous_class(std::string_view name, std::vector<std::string> candidates);

}  // namespace headgate
