// The grammar of `control_limit`: a packet rate, a bit rate, a list of one of each, or "none".
#pragma once

#include <string>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Reads a limit element by element. `none` stands alone.
class ControlLimitReader {
 public:
  Reading add(std::string_view text);
  const Rate& limit() const { return limit_; }  // neither set: none

 private:
  Rate limit_;
  bool none_ = false;
};

// As in the file: "none", 1000pps, or ["1000pps", "1mbit"].
std::string control_limit_text(const Rate& limit);

}  // namespace headgate
