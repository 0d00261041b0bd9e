#include "config/reading.hpp"

namespace headgate {
namespace {

constexpr std::size_t kLongestQuote = 200;

void append_escaped(std::string& text, char letter) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(letter);
  if (letter == '\n') {
    text += "\\n";
  } else if (letter == '\t') {
    text += "\\t";
  } else if (code < 0x20 || code == 0x7f) {
    text.append("\\u00") += kHex[code >> 4];
    text += kHex[code & 0xf];
  } else {
    text += letter;
  }
}

}  // namespace

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  std::size_t length = cut ? kLongestQuote : text.size();
  while (cut && length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    --length;  // a whole character
  std::string result = "\"";
  for (const char letter : text.substr(0, length)) append_escaped(result, letter);
  return result + (cut ? "...\"" : "\"");
}

}  // namespace headgate
