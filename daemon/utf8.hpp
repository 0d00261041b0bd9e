// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string_view>

namespace headgate {

// Bytes of the UTF-8 character at `at`; 0: it is none (overlong forms and surrogates included).
std::size_t utf8_character_length(std::string_view text, std::size_t at);

// The code point of a character of that length.
char32_t utf8_code_point(std::string_view character);

}  // namespace headgate
