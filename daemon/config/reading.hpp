// What a reader of the configuration's grammar has to say of a piece of text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace headgate {

// Sentences without a place or a name in front; the file and the command line add theirs.
struct Reading {
  std::string error;    // empty: the value was read
  std::string warning;  // empty: none
  bool ok() const { return error.empty(); }
};

inline Reading refuse(std::string message) {
  return {std::move(message), {}};
}

// As the user wrote it, in quotation marks, on one line: what cannot be seen is escaped (visible_text.hpp), and
// what is very long is cut short.
std::string quoted(std::string_view text);

}  // namespace headgate
