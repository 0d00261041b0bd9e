// What is to stand on a terminal: lines of text with tones. No terminal is needed to make it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "text_table.hpp"

namespace headgate::top {

struct Size {
  std::size_t columns = 80;
  std::size_t rows = 24;

  bool operator==(const Size&) const = default;
};

struct Span {
  std::string text;
  Tone tone = Tone::plain;
};

struct Line {
  std::vector<Span> spans;
  bool marked = false;  // all of it in reverse video
};

struct Screen {
  std::vector<Line> lines;            // from the top; none is wider than the terminal
  std::optional<std::size_t> cursor;  // the column of the last line where it blinks; none: hidden
};

}  // namespace headgate::top
