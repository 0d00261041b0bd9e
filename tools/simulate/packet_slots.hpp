// Where offered packets stand until the shaper has them: each frame with what is kept in front of it, as in a capture ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "core/packet_notes.hpp"
#include "tally.hpp"
#include "traffic.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

// What the shaper keeps in front of each frame: what the classifier asks for, and the packet's place in the tally.
struct KeptNotes {
  PacketNotes notes;
  std::uint32_t unused = 0;
  TalliedPacket tallied;
};
static_assert(sizeof(KeptNotes) >= kLeastPrefixWithNotes && sizeof(KeptNotes) % alignof(KeptNotes) == 0);

inline constexpr std::uint8_t kKeptBytes = sizeof(KeptNotes);

// Of a frame that the shaper has.
inline TalliedPacket tallied_packet(const std::byte* frame) {
  TalliedPacket tallied;
  std::memcpy(&tallied, frame - sizeof(KeptNotes) + offsetof(KeptNotes, tallied), sizeof tallied);
  return tallied;
}

class PacketSlots {
 public:
  static constexpr std::size_t kSlots = 64;

  PacketSlots() : memory_(kSlots * kSlotBytes) {}

  // Copies the packet to slot `number`: its frame as the kernel hands it over, its outermost tag taken out, filled up with
  // zeros to its length. The class is not set.
  ArrivingPacket put(std::size_t number, const OfferedPacket& offered);

  // What stands in front of the frame in a slot: to be filled, until the packet's next.
  KeptNotes& kept(std::size_t number) {
    return *new (&memory_[number * kSlotBytes + kFirst - kKeptBytes]) KeptNotes;
  }

 private:
  static constexpr std::size_t kFirst = 64;  // of a slot, in front of the frame
  static constexpr std::size_t kSlotBytes = kFirst + (kLongestOffered + 63) / 64 * 64;
  static_assert(kFirst >= sizeof(KeptNotes) && std::is_trivially_destructible_v<KeptNotes>);

  std::vector<std::byte> memory_;
  std::array<std::size_t, kSlots> written_{};  // bytes of each frame that may not be zero
};

}  // namespace headgate
