// The first syntax error of a file, in words that say what to write instead.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>

#include "config/findings.hpp"

namespace headgate {

struct SyntaxError {
  Place place;
  std::string message;
};

// What the parser would not survive or explain: NUL characters, UTF-16, keys nested without end.
std::optional<SyntaxError> check_characters(std::string_view text);

// An error of the parser, with a hint where a value lacks its quotation marks.
SyntaxError describe(const toml::parse_error& error, std::string_view text);

}  // namespace headgate
