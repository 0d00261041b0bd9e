// At most so many lines a second; what is beyond is counted by reason.
//
// A second begins with the first line behind the end of the last one, so any rate of arrival has its first lines shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "headgate/clock.hpp"

namespace headgate {

class LineLimit {
 public:
  using Reasons = std::map<std::string, std::uint64_t>;

  explicit LineLimit(std::uint64_t most) : most_(most) {}

  // What the second left out, once, when it is over by `now`; empty: nothing. To be asked before admits().
  Reasons take_left_out(Instant now);

  // Whether the line may be shown; otherwise it is counted.
  bool admits(const std::string& reason, Instant now);

  // When take_left_out() will have something; none: nothing is left out so far.
  std::optional<Instant> due() const;

 private:
  const std::uint64_t most_;
  std::optional<Instant> began_;  // the second; none: no line since the end of the last
  std::uint64_t shown_ = 0;       // in it
  Reasons left_out_;
};

std::uint64_t sum_of(const LineLimit::Reasons& left_out);

// "... and 1234 more: queue_full 1200, aqm 34", the most frequent reason first.
std::string left_out_line(const LineLimit::Reasons& left_out);

}  // namespace headgate
