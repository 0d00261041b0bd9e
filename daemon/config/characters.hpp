// ASCII letters, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace headgate {

constexpr bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
constexpr bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
constexpr bool same_letter(char a, char b) {
  return lower(a) == lower(b);
}

std::string lower(std::string_view text);

// Without the spaces and tabs at both ends.
std::string_view trim(std::string_view text);

// Nothing but spaces, tabs and line ends.
bool is_blank(std::string_view text);

}  // namespace headgate
