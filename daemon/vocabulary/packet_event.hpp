// What happens to a packet of a class. The names are part of the stable JSON.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headgate {

enum class PacketEvent : std::uint8_t { received, sent, dropped };

inline constexpr std::size_t kPacketEventCount = 3;

inline constexpr std::array<std::string_view, kPacketEventCount> kPacketEventNames = {"received", "sent",
                                                                                      "dropped"};

constexpr std::string_view name_of(PacketEvent event) {
  return kPacketEventNames[static_cast<std::size_t>(event)];
}

using PacketEventSet = std::array<bool, kPacketEventCount>;  // indexed by PacketEvent

}  // namespace headgate
