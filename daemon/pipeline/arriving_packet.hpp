// A captured frame as a packet that arrives: what it counts and what is noted beside it. Its class is not set.
#pragma once

#include <cstddef>

#include "pipeline/packet_io.hpp"
#include "pipeline/wire_charge.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

// Of frames with so many bytes each that their packets do not have on the wire.
inline Count on_wire(const Count& frames, std::size_t added_bytes) {
  return {frames.packets, frames.bytes - frames.packets * added_bytes};
}

inline ArrivingPacket arriving_packet(const CapturedFrame& captured, std::size_t added_bytes, Instant now) {
  const Count charge = on_wire(wire_charge(captured), added_bytes);
  return {.frame = captured.frame,
          .arrival = now,
          .charged_bytes = static_cast<std::uint32_t>(charge.bytes),
          .charged_packets = static_cast<std::uint16_t>(charge.packets),
          .vlan_tpid = captured.vlan_tpid,
          .vlan_tci = captured.vlan_tci,
          .prefix_bytes = captured.prefix_bytes,
          .cgroups = captured.cgroups};
}

}  // namespace headgate
