// A worker's word on how it is doing: written by its thread, read by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "headgate/clock.hpp"

namespace headgate {

struct WorkerHealth {
  static constexpr Duration kPatience = std::chrono::milliseconds(500);
  static constexpr std::int64_t kNothingDue = std::numeric_limits<std::int64_t>::max();

  // In nanoseconds of Instant.
  std::atomic<std::int64_t> looked_at{0};           // when it last went round
  std::atomic<std::int64_t> next_due{kNothingDue};  // when the first packet that waits is due
  // How often it came later than can be caught up (kMaxCatchUp): to a packet that was due, or to frames that had come.
  std::atomic<std::uint64_t> late_times{0};

  bool has_looked_for(Instant now, Duration patience) const {
    return now.time_since_epoch().count() - looked_at.load(std::memory_order_relaxed) <= patience.count();
  }
  bool overdue(Instant now, Duration patience = kPatience) const {
    const std::int64_t due = next_due.load(std::memory_order_relaxed);
    return due != kNothingDue && now.time_since_epoch().count() - due > patience.count();
  }
};

}  // namespace headgate
