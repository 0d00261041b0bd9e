#include "member_lines.hpp"

#include <algorithm>
#include <optional>

namespace headgate {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\r";
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  while ((begin = line.find_first_not_of(kSpaces, begin)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// None: there is nothing on it.
std::optional<MemberLine> parse(std::string_view line, std::size_t number) {
  const std::vector<std::string_view> words = words_of(line.substr(0, line.find('#')));
  if (words.empty()) return std::nullopt;
  if (words.size() != 2)
    return MemberLine{
        .number = number, .member = {}, .plan = {}, .error = "expected MEMBER PLAN, as in 10.0.0.5 gold"};
  return MemberLine{
      .number = number, .member = std::string(words[0]), .plan = std::string(words[1]), .error = {}};
}

}  // namespace

std::vector<MemberLine> MemberLines::add(std::string_view bytes) {
  std::vector<MemberLine> lines;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    extend(bytes.substr(0, end));
    if (end == std::string_view::npos) return lines;
    complete(lines);
    bytes.remove_prefix(end + 1);
  }
}

std::vector<MemberLine> MemberLines::finish() {
  std::vector<MemberLine> lines;
  complete(lines);
  return lines;
}

void MemberLines::extend(std::string_view piece) {
  line_ += piece.substr(0, kLongest + 1 - line_.size());
}

void MemberLines::complete(std::vector<MemberLine>& lines) {
  ++number_;
  if (line_.size() > kLongest) {
    lines.push_back({.number = number_, .member = {}, .plan = {}, .error = "longer than 1024 bytes"});
  } else if (auto line = parse(line_, number_)) {
    lines.push_back(std::move(*line));
  }
  line_.clear();
}

}  // namespace headgate
