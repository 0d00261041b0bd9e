// Standard output, with its failures seen.
#pragma once

#include <string_view>

namespace headgate {

// Whoever read our output does not any more: no reason for words.
struct OutputClosed {};

// Writes and flushes. Throws OutputClosed, or std::system_error for a full disk and the like.
void print(std::string_view text);

}  // namespace headgate
