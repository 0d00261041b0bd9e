// Which of a shape's workers a flow belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headgate {

// Every packet of a flow gives the same number below `parts`, so one worker alone has the flow's bucket. The flow table
// takes a flow's place from the top bits of the hash and its tag from the bottom ones: these are mixed first, so that the
// flows of one worker still spread over all of its table.
constexpr std::size_t part_of_flow(std::uint32_t flow_hash, std::size_t parts) {
  constexpr std::uint32_t kOdd = 0x9e3779b1;  // 2^32 divided by the golden ratio
  return static_cast<std::size_t>(std::uint64_t{flow_hash * kOdd} * parts >> 32);
}

}  // namespace headgate
