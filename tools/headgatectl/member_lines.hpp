// The lines of `headgatectl plan CLASS -`: "MEMBER PLAN", comments from "#" on, blank lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headgate {

struct MemberLine {
  std::size_t number = 0;  // from 1
  std::string member;
  std::string plan;
  std::string error;  // a sentence; empty: there are both
};

// Cuts what comes in pieces.
class MemberLines {
 public:
  std::vector<MemberLine> add(std::string_view bytes);  // the lines that these bytes complete
  std::vector<MemberLine> finish();                     // a last line without its end

 private:
  static constexpr std::size_t kLongest = 1024;

  void extend(std::string_view piece);
  void complete(std::vector<MemberLine>& lines);

  std::string line_;  // its beginning, up to a byte more than the longest
  std::size_t number_ = 0;
};

}  // namespace headgate
