#include "top/terminal_text.hpp"

#include <algorithm>
#include <cwchar>

namespace headgate::top {
namespace {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

// What the locale does not know takes a column a byte.
Character first_of(std::string_view text) {
  std::mbstate_t state{};
  wchar_t character = 0;
  const std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {};
  const int columns = wcwidth(character);
  return {bytes, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = first_of(text);
    columns += character.columns;
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns, std::string_view ellipsis) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::size_t taken = 0, bytes = 0;
  while (bytes < text.size()) {
    const Character character = first_of(text.substr(bytes));
    if (taken + character.columns > columns - 1) break;
    taken += character.columns;
    bytes += character.bytes;
  }
  return std::string(text.substr(0, bytes)) + std::string(ellipsis);
}

std::string padded(std::string_view text, std::size_t columns, std::string_view ellipsis, bool right) {
  std::string cut = cut_to(text, columns, ellipsis);
  const std::string blanks(columns - std::min(columns, columns_of(cut)), ' ');
  return right ? blanks + cut : cut + blanks;
}

}  // namespace headgate::top
