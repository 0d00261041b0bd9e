#include "utf8.hpp"

namespace headgate {

std::size_t utf8_character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  const auto follows = [&](std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      if ((byte(at + i) & 0xc0U) != 0x80U) return false;
    }
    return true;
  };
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf && follows(1)) return 2;
  if (first >= 0xe0 && first <= 0xef && follows(2)) {
    const unsigned second = byte(at + 1);
    const bool refused = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f);
    return refused ? 0 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4 && follows(3)) {
    const unsigned second = byte(at + 1);
    const bool refused = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return refused ? 0 : 4;
  }
  return 0;
}

char32_t utf8_code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  // The first byte of a character of n bytes carries 7 - n bits, each of the others 6.
  char32_t code = static_cast<unsigned char>(character[0]) & (0xffU >> (character.size() + 1));
  for (const char byte : character.substr(1)) code = code << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  return code;
}

}  // namespace headgate
