// Aligned columns of UTF-8 text, and what the terminal can show of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct ScreenStyle {
  bool colour = false;
  bool utf8 = true;  // false: arrows become "->"

  // Of standard output: colour on a terminal unless NO_COLOR is set, UTF-8 by the locale.
  static ScreenStyle detect();
};

enum class Tone { plain, heading, good, attention, bad };

// In ASCII where the terminal knows no UTF-8, and with what cannot be seen escaped (visible_text.hpp).
std::string printable(std::string_view text, bool utf8);

// The text in its colour, and in ASCII where the terminal knows no UTF-8. What cannot be seen is
// escaped (visible_text.hpp).
std::string styled(std::string_view text, Tone tone, const ScreenStyle& style);

struct Column {
  std::string title;
  bool right = true;  // aligned to the right, as numbers are
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<Cell> cells) { lines_.push_back({std::move(cells), {}}); }
  void add_note(Cell note) {
    lines_.push_back({{}, std::move(note)});
  }  // a line of its own under the last row

  std::string text(const ScreenStyle& style) const;

 private:
  struct Line {
    std::vector<Cell> cells;  // empty: a note
    Cell note;
  };
  std::vector<Column> columns_;
  std::vector<Line> lines_;
};

}  // namespace headgate
