#include "config/syntax_error.hpp"

#include <algorithm>
#include <cctype>

#include "utf8.hpp"

namespace headgate {
namespace {

std::string_view line_at(std::string_view text, std::size_t line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// For `rate = 1000pps` and `bypass = True`: the line as it was probably meant. Empty: the line has no such
// value.
std::string hint_for(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view key = trim(line.substr(0, equals));
  const std::string_view value = trim(line.substr(equals + 1, line.find('#', equals) - equals - 1));
  if (key.empty() || key.find_first_of("\"'[{#") != std::string_view::npos) return {};
  if (value.find_first_of("\"'[]{}=\\") != std::string_view::npos) return {};
  if (std::none_of(value.begin(), value.end(),
                   [](unsigned char letter) { return std::isalpha(letter) != 0; }))
    return {};
  std::string lower(value);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  const auto meant = [&](std::string_view text) {
    return std::string("; did you mean ").append(key).append(" = ").append(text).append("?");
  };
  if (lower == "true" || lower == "yes" || lower == "on") return meant("true");
  if (lower == "false" || lower == "no" || lower == "off") return meant("false");
  return meant(quoted(value));
}

// Keys of a dotted chain, a.b."c".d: the parser nests a table for each, and its recursion there has no bound.
constexpr std::size_t kMaxChain = 100;

bool continues_chain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("._-\"'").find(letter) != std::string_view::npos;
}

}  // namespace

std::optional<SyntaxError> check_characters(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return SyntaxError{{1, 1}, "the file is UTF-16 text, expected UTF-8"};
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark, which TOML allows
  Place place{1, 1};
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character_length(text, at);
    if (text[at] == '\0') return SyntaxError{place, "syntax error: a NUL character, expected UTF-8 text"};
    if (length == 0) return SyntaxError{place, "syntax error: a byte that is not UTF-8, expected UTF-8 text"};
    if (text[at] == '.') ++dots;
    if (!continues_chain(text[at])) dots = 0;
    if (dots > kMaxChain) return SyntaxError{place, "syntax error: a key of more than 100 parts"};
    place = text[at] == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
    at += length;
  }
  return std::nullopt;
}

SyntaxError describe(const toml::parse_error& error, std::string_view text) {
  static constexpr std::string_view kPrefix = "Error while parsing ";
  static constexpr std::string_view kTwice = "key-value pair: cannot redefine existing ";
  const Place place{error.source().begin.line, error.source().begin.column};
  const std::string_view line = line_at(text, place.line);
  std::string_view reason = error.description();
  if (reason.starts_with(kPrefix)) reason.remove_prefix(kPrefix.size());
  if (reason.find("unescaped control characters") != std::string_view::npos &&
      place.column > character_count(line)) {
    return {place, "syntax error in string: the line ends within it, expected a closing quotation mark"};
  }
  if (reason.find("TOML_MAX_NESTED_VALUES") != std::string_view::npos) {
    return {place, "syntax error: lists and tables are nested too deeply"};
  }
  if (reason.starts_with(kTwice)) {
    const std::string_view key = reason.substr(std::min(reason.find('\''), reason.size()));
    return {place, std::string("syntax error: the key ").append(key).append(" stands here a second time")};
  }
  return {place, std::string("syntax error in ").append(reason) + hint_for(line)};
}

}  // namespace headgate
