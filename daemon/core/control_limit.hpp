// How much control traffic goes on unshaped: a bound in packets, one in bits, or both; a packet has to keep each.
//
// A bound is a clock (GCRA): each packet moves it on by the time that its size takes at the rate, and keeps the bound
// while the clock is ahead of the time by no more than the burst. The burst is what kBurstTime brings, but at least
// kBurstFrames frames of kFullFrame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class ControlLimit {
 public:
  static constexpr Duration kBurstTime = std::chrono::milliseconds(100);
  static constexpr std::uint64_t kBurstFrames = 10;
  static constexpr DataSize kFullFrame{1514};

  struct Bound {
    std::uint64_t per_second = 0;  // packets or bits; 0: no bound
    Duration burst{};              // as the time that it takes at that rate
  };

  explicit ControlLimit(const Rate& limit);

  const Bound& packets() const { return packets_; }
  const Bound& bits() const { return bits_; }

 private:
  Bound packets_;
  Bound bits_;
};

}  // namespace headgate
