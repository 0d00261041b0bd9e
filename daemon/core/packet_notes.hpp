// What the kernel notes beside a packet and a capture back end may keep in front of its frame (pipeline/frame_prefix.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "vocabulary/packet.hpp"

namespace headgate {

struct PacketNotes {
  std::uint32_t mark = 0;
  std::uint32_t priority = 0;
  std::uint32_t tunnel = 0;  // what the programs in the kernel know its tunnel metadata by; 0: it has none
  bool operator==(const PacketNotes&) const = default;
};

// More than any prefix has in which there are none.
inline constexpr std::size_t kLeastPrefixWithNotes = 16;

// Of the beginning of a prefix that has them.
inline PacketNotes read_packet_notes(std::span<const std::byte> prefix) {
  PacketNotes notes;
  std::memcpy(&notes, prefix.data(), sizeof notes);
  return notes;
}

// Zeros where its prefix has none.
inline PacketNotes notes_of(const ArrivingPacket& packet) {
  if (packet.prefix_bytes < kLeastPrefixWithNotes) return {};
  return read_packet_notes({packet.frame.data() - packet.prefix_bytes, packet.prefix_bytes});
}

}  // namespace headgate
