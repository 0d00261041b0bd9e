#include "visible_text.hpp"

#include <array>
#include <cstdio>

#include "utf8.hpp"

namespace headgate {
namespace {

bool is_hidden(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  const bool control = code < 0x20 || within(0x7f, 0x9f);
  const bool bidirectional =
      code == 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) || within(0x2066, 0x2069);
  return control || bidirectional || within(0x2028, 0x2029);
}

std::string in_hex(const char* format, char32_t code) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(code));
  return text.data();
}

std::string escaped(char32_t code) {
  if (code == U'\n') return "\\n";
  if (code == U'\t') return "\\t";
  return in_hex(code < 0x80 ? "\\x%02x" : "\\u%04x", code);
}

std::string escaped_in_json(char32_t code) {
  return code == U'\n' ? "\n" : in_hex("\\u%04x", code);  // a line end stands between values
}

template <typename Escape>
std::string with_escapes(std::string_view text, const Escape& escape) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character_length(text, at);
    const std::string_view character = text.substr(at, length == 0 ? 1 : length);
    if (length == 0) {
      result += in_hex("\\x%02x", static_cast<unsigned char>(text[at]));
    } else if (const char32_t code = utf8_code_point(character); is_hidden(code)) {
      result += escape(code);
    } else {
      result += character;
    }
    at += character.size();
  }
  return result;
}

}  // namespace

std::string visible(std::string_view text) {
  return with_escapes(text, escaped);
}

std::string visible_lines(std::string_view text) {
  return with_escapes(text, [](char32_t code) { return code == U'\n' ? std::string("\n") : escaped(code); });
}

std::string visible_json(std::string_view json) {
  return with_escapes(json, escaped_in_json);
}

}  // namespace headgate
