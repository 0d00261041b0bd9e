// The lines of standard input that stand for requests: words, comments from "#" on, blank lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct InputLine {
  std::size_t number = 0;          // from 1
  std::vector<std::string> words;  // at least one
  std::string error;               // a sentence; empty: there are words
};

// Cuts what comes in pieces.
class InputLines {
 public:
  std::vector<InputLine> add(std::string_view bytes);  // the lines that these bytes complete
  std::vector<InputLine> finish();                     // a last line without its end

 private:
  static constexpr std::size_t kLongest = 1024;

  void extend(std::string_view piece);
  void complete(std::vector<InputLine>& lines);

  std::string line_;  // its beginning, up to a byte more than the longest
  std::size_t number_ = 0;
};

}  // namespace headgate
