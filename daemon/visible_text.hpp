// Text of others on its way to a terminal, a log or a screen.
//
// Names of interfaces and files, and what stands in a configuration, may hold characters that move the cursor, change
// colours or turn the order of the letters around. All that is printed goes through here, so that what a reader sees is
// what is there. Escaped are C0, DEL, C1, bytes that are no UTF-8, the marks, embeddings, overrides and isolates of
// bidirectional text, and the line and paragraph separators.
#pragma once

#include <string>
#include <string_view>

namespace headgate {

// On one line: "\n" and "\t", "\x1b" for other bytes below 0x80 and for bytes that are no UTF-8, "\u202e" for the rest.
std::string visible(std::string_view text);

// The same, but line ends stay.
std::string visible_lines(std::string_view text);

// JSON as it was made, to the same values: what it may hold of these characters stands within strings, as "\u202e".
std::string visible_json(std::string_view json);

}  // namespace headgate
