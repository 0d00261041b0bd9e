// The outermost VLAN tag of a frame, which the kernel takes out when it captures one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headgate {

// To put back after the MAC addresses; tpid 0: none.
struct StrippedTag {
  std::uint16_t tpid = 0;
  std::uint16_t tci = 0;
};

// As it stands in a frame.
constexpr std::array<std::byte, 4> tag_bytes(StrippedTag tag) {
  return {std::byte(tag.tpid >> 8), std::byte(tag.tpid & 0xff), std::byte(tag.tci >> 8),
          std::byte(tag.tci & 0xff)};
}

}  // namespace headgate
