// What a program prints on its standard output, with its failures seen, and on its standard error.
#pragma once

#include <string_view>

namespace headgate {

// Whoever read our output does not any more: no reason for words.
struct OutputClosed {};

// Writes and flushes. Throws OutputClosed, or std::system_error for a full disk and the like.
void print(std::string_view text);

// On standard error, with a line end behind it. What cannot be seen is escaped, but for line ends.
void print_error(std::string_view text);

}  // namespace headgate
