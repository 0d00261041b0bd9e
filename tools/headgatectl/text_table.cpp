#include "text_table.hpp"

#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>

#include "visible_text.hpp"

namespace headgate {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kGap = "  ";

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::heading:
      return "\033[1m";
    case Tone::good:
      return "\033[32m";
    case Tone::attention:
      return "\033[33m";
    case Tone::bad:
      return "\033[1;31m";
    case Tone::plain:
      break;
  }
  return "";
}

// Code points. Names and keys hold no wide or combining characters worth a table of them.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string coloured(std::string text, Tone tone, bool colour) {
  const std::string_view code = colour ? colour_of(tone) : "";
  if (code.empty() || text.empty()) return text;
  return std::string(code) + text + "\033[0m";
}

}  // namespace

std::string printable(std::string_view text, bool utf8) {
  static constexpr std::string_view kArrow = "→";
  const std::string seen = visible(text);
  if (utf8) return seen;
  std::string result;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen.compare(i, kArrow.size(), kArrow) == 0) {
      result += "->";
      i += kArrow.size() - 1;
    } else {
      result += static_cast<unsigned char>(seen[i]) >= 0x80 ? '?' : seen[i];
    }
  }
  return result;
}

ScreenStyle ScreenStyle::detect() {
  std::setlocale(LC_CTYPE, "");
  const char* no_colour = std::getenv("NO_COLOR");
  return {isatty(STDOUT_FILENO) == 1 && (!no_colour || *no_colour == '\0'),
          std::string_view(nl_langinfo(CODESET)) == "UTF-8"};
}

std::string styled(std::string_view text, Tone tone, const ScreenStyle& style) {
  return coloured(printable(text, style.utf8), tone, style.colour);
}

std::string TextTable::text(const ScreenStyle& style) const {
  std::vector<Line> lines;
  Line titles;
  for (const Column& column : columns_) titles.cells.push_back({column.title, Tone::heading});
  lines.push_back(titles);
  lines.insert(lines.end(), lines_.begin(), lines_.end());

  std::vector<std::size_t> widths(columns_.size());
  for (Line& line : lines) {
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      line.cells[i].text = printable(line.cells[i].text, style.utf8);
      widths[i] = std::max(widths[i], width_of(line.cells[i].text));
    }
  }

  std::string result;
  for (const Line& line : lines) {
    result += kIndent;
    if (line.cells.empty()) {
      result += kIndent;
      result += styled(line.note.text, line.note.tone, style);
    }
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      const Cell& cell = line.cells[i];
      const std::string padding(widths[i] - width_of(cell.text), ' ');
      const bool last = i + 1 == line.cells.size();
      if (columns_[i].right) result += padding;
      result += coloured(cell.text, cell.tone, style.colour);
      if (!columns_[i].right && !last) result += padding;
      if (!last) result += kGap;
    }
    result += '\n';
  }
  return result;
}

}  // namespace headgate
