// What one worker of a shape hands to another, in the order in which it must take effect.
#pragma once

#include <cstdint>

#include "pipeline/hand_off_ring.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

class Reconfiguration;

struct HandOffEntry {
  enum class Kind : std::uint8_t { packet, reconfiguration, end };

  ArrivingPacket packet;
  std::uint32_t slot = 0;  // of the packet's frame, for PacketSource::give_back()
  Kind kind = Kind::packet;
  Reconfiguration* reconfiguration = nullptr;
};

using HandOff = HandOffRing<HandOffEntry>;

}  // namespace headgate
