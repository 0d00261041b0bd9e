#include "packet_slots.hpp"

#include <algorithm>

namespace headgate {
namespace {

constexpr std::size_t kMacBytes = 12;
constexpr std::size_t kTagBytes = 4;

std::uint16_t word(std::span<const std::byte> frame, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(frame[at]) << 8 |
                                    std::to_integer<unsigned>(frame[at + 1]));
}

bool has_tag(std::span<const std::byte> frame) {
  if (frame.size() < kMacBytes + kTagBytes + 2) return false;
  const std::uint16_t type = word(frame, kMacBytes);
  return type == 0x8100 || type == 0x88a8;
}

}  // namespace

ArrivingPacket PacketSlots::put(std::size_t number, const OfferedPacket& offered) {
  std::byte* const frame = &memory_[number * kSlotBytes + kFirst];
  std::size_t length = offered.length;
  std::span<const std::byte> bytes = offered.frame.first(std::min<std::size_t>(offered.frame.size(), length));
  ArrivingPacket packet{
      .arrival = offered.at,
      .charged_bytes = static_cast<std::uint32_t>(length - added_bytes(offered.link_header)),
      .prefix_bytes = kKeptBytes,
  };
  std::size_t written = 0;
  if (has_tag(bytes)) {
    packet.vlan_tpid = word(bytes, kMacBytes);
    packet.vlan_tci = word(bytes, kMacBytes + 2);
    std::memcpy(frame, bytes.data(), kMacBytes);
    written = kMacBytes;
    bytes = bytes.subspan(kMacBytes + kTagBytes);
    length -= kTagBytes;
  }
  if (!bytes.empty()) std::memcpy(frame + written, bytes.data(), bytes.size());
  written += bytes.size();
  if (written < written_[number]) std::memset(frame + written, 0, written_[number] - written);
  written_[number] = written;
  packet.frame = {frame, length};
  return packet;
}

}  // namespace headgate
