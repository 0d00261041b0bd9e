// Is shown each packet that the shaper itself drops, just before it is gone. The worker's thread; must not call the
// shaper.
#pragma once

#include <cstddef>
#include <span>

#include "vocabulary/drop_reason.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

class DropObserver {
 public:
  virtual ~DropObserver() = default;

  // A packet that asked for room.
  virtual void dropped(const ArrivingPacket& packet, DropReason reason) = 0;
  // A packet that had been queued: its frame, tag put back, in parts. In front of the first stands what is kept with it
  // (ShaperLimits::frame_prefix).
  virtual void dropped(ClassIndex class_index, std::span<const std::span<const std::byte>> frame,
                       DropReason reason) = 0;
};

}  // namespace headgate
