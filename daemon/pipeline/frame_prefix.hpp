// What is kept in front of a frame in memory, to go with it when it is sent. How much of it there is depends on the capture
// back end: nothing, the virtio header, or all. So the virtio header, where there is one, stands right in front of the
// frame.
#pragma once

#include <cstdint>

#include "core/packet_notes.hpp"
#include "pipeline/virtio_header.hpp"

namespace headgate {

inline constexpr std::uint8_t kVirtioPrefixBytes = sizeof(VirtioHeader);
inline constexpr std::uint8_t kWholePrefixBytes = sizeof(PacketNotes) + sizeof(VirtioHeader);

static_assert(kVirtioPrefixBytes < kLeastPrefixWithNotes && kWholePrefixBytes >= kLeastPrefixWithNotes);

}  // namespace headgate
