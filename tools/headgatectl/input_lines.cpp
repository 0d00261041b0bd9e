#include "input_lines.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace headgate {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\r";
  std::vector<std::string> words;
  std::size_t begin = 0;
  while ((begin = line.find_first_not_of(kSpaces, begin)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// None: there is nothing on it.
std::optional<InputLine> parse(std::string_view line, std::size_t number) {
  std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
  if (words.empty()) return std::nullopt;
  return InputLine{.number = number, .words = std::move(words), .error = {}};
}

}  // namespace

std::vector<InputLine> InputLines::add(std::string_view bytes) {
  std::vector<InputLine> lines;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    extend(bytes.substr(0, end));
    if (end == std::string_view::npos) return lines;
    complete(lines);
    bytes.remove_prefix(end + 1);
  }
}

std::vector<InputLine> InputLines::finish() {
  std::vector<InputLine> lines;
  complete(lines);
  return lines;
}

void InputLines::extend(std::string_view piece) {
  line_ += piece.substr(0, kLongest + 1 - line_.size());
}

void InputLines::complete(std::vector<InputLine>& lines) {
  ++number_;
  if (line_.size() > kLongest) {
    lines.push_back({.number = number_, .words = {}, .error = "longer than 1024 bytes"});
  } else if (auto line = parse(line_, number_)) {
    lines.push_back(std::move(*line));
  }
  line_.clear();
}

}  // namespace headgate
