// What the capture loop hands to the drain thread, in the order in which it must take effect.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "headgate/clock.hpp"
#include "headgate/packet.hpp"
#include "pipeline/hand_off_ring.hpp"
#include "pipeline/reconfiguration.hpp"

namespace headgate {

struct HandOffEntry {
  enum class Kind : std::uint8_t { packet, reconfiguration, end };

  ArrivingPacket packet;
  std::uint32_t slot = 0;  // of the packet's frame, for PacketSource::give_back()
  Kind kind = Kind::packet;
  bool clipped = false;
  Reconfiguration* reconfiguration = nullptr;
};

using HandOff = HandOffRing<HandOffEntry>;

// The drain thread's word on how it is doing, read by the capture loop and the watchdog.
struct DrainHealth {
  static constexpr std::int64_t kNothingDue = std::numeric_limits<std::int64_t>::max();
  static constexpr Duration kPatience = std::chrono::milliseconds(500);

  // When the oldest packet that has not been sent is due, in nanoseconds of Instant.
  std::atomic<std::int64_t> next_due{kNothingDue};

  bool overdue(Instant now) const {
    const std::int64_t due = next_due.load(std::memory_order_relaxed);
    return due != kNothingDue && now.time_since_epoch().count() - due > kPatience.count();
  }
};

}  // namespace headgate
