// What happened when, in bins of equal length. There are never many: when the last is full, each two become one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "headgate/clock.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

// Of one class in one bin. Offered and dropped count when the packet came or was dropped, sent and delay when it left.
struct SeriesBin {
  Count offered;
  Count sent;
  std::uint64_t dropped = 0;  // packets
  Duration delay{};           // of all packets sent, together
  Duration longest_delay{};

  SeriesBin& operator+=(const SeriesBin& other);
};

class TimeSeries {
 public:
  static constexpr std::size_t kMostBins = 512;
  static constexpr Duration kShortest = std::chrono::microseconds(100);

  TimeSeries(Instant start, std::size_t classes)
      : start_(start), bins_(classes, std::vector<SeriesBin>(kMostBins)) {}

  // `at` is not before the start.
  SeriesBin& bin(std::size_t class_number, Instant at) {
    if (at < from_ || at >= to_) find(at);
    return bins_[class_number][found_];
  }

  Duration width() const { return width_; }
  // Of one class: as many as there are up to `end`, at least one.
  std::vector<SeriesBin> bins(std::size_t class_number, Instant end) const;

 private:
  void find(Instant at);
  void halve();

  const Instant start_;
  Duration width_ = kShortest;
  std::vector<std::vector<SeriesBin>> bins_;  // by class
  Instant from_{}, to_{};                     // of the bin that was found last; no instant is in it at first
  std::size_t found_ = 0;
};

}  // namespace headgate
