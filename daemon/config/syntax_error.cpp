#include "config/syntax_error.hpp"

#include <algorithm>

#include "config/characters.hpp"

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

// Of UTF-8.
bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// The parser places a byte that is not UTF-8 at the last good character before it, or at the byte itself where it has none.
Place behind_ascii(Place place, std::string_view line) {
  std::size_t at = 0;
  for (std::size_t column = 0; at < line.size(); ++at) {
    if (begins_character(line[at]) && ++column == place.column) break;
  }
  if (at == line.size()) return {place.line + 1, 1};  // the end of the line
  if (static_cast<unsigned char>(line[at]) < 0x80) ++place.column;
  return place;
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
  if (std::none_of(value.begin(), value.end(), is_letter)) return {};
  const std::string word = lower(value);
  const auto meant = [&](std::string_view text) {
    return std::string("; did you mean ").append(key).append(" = ").append(text).append("?");
  };
  if (word == "true" || word == "yes" || word == "on") return meant("true");
  if (word == "false" || word == "no" || word == "off") return meant("false");
  return meant(quoted(value));
}

// Keys of a dotted chain, a.b."c".d: the parser nests a table for each, and its recursion there has no bound.
constexpr std::size_t kMaxChain = 100;

bool continues_chain(char letter) {
  return is_letter(letter) || is_digit(letter) ||
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
  for (const char letter : text) {
    if (letter == '\0') return SyntaxError{place, "syntax error: a NUL character, expected UTF-8 text"};
    if (letter == '.') ++dots;
    if (!continues_chain(letter)) dots = 0;
    if (dots > kMaxChain) return SyntaxError{place, "syntax error: a key of more than 100 parts"};
    if (letter == '\n') {
      place = {place.line + 1, 1};
    } else if (begins_character(letter)) {
      ++place.column;
    }
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
  if (reason.find("utf-8") != std::string_view::npos)
    return {behind_ascii(place, line), "syntax error: a byte that is not UTF-8, expected UTF-8 text"};
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
