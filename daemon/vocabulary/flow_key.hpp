// What tells one flow of a class from another, and how a class wants its flows told apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headgate {

// Which header fields make the key. Parts combine: {"vlan", "dst/24,64"} sets vlan and destination.
struct KeySpec {
  bool source_address = false;
  bool destination_address = false;
  bool ports = false;  // source and destination port and the protocol: only as part of "5-tuple"
  bool source_mac = false;
  bool destination_mac = false;
  bool vlan = false;

  // Address bits kept, by family and side. 32 and 128 keep the whole address.
  std::uint8_t source_prefix_v4 = 32;
  std::uint8_t source_prefix_v6 = 128;
  std::uint8_t destination_prefix_v4 = 32;
  std::uint8_t destination_prefix_v6 = 128;

  bool operator==(const KeySpec&) const = default;
};

// 40 bytes, all of them significant, so keys compare and hash as bytes. Fields that the KeySpec leaves out are zero.
// An IPv4 address stands as ::ffff:a.b.c.d. A MAC address takes the place of the address of its side (its six bytes
// last, the rest zero): a KeySpec never has both for one side.
struct FlowKey {
  std::array<std::uint8_t, 16> source{};
  std::array<std::uint8_t, 16> destination{};
  std::uint16_t source_port =
      0;  // host byte order; zero for every fragment of a datagram, the first included
  std::uint16_t destination_port = 0;  // host byte order
  std::uint8_t protocol = 0;           // IP protocol number after IPv6 extension headers
  std::array<std::uint8_t, 3>
      vlan{};  // two 12-bit VLAN identifiers: outer in the high bits; 0 is "no such tag"

  bool operator==(const FlowKey& other) const {
    // Without a branch; not by bit_cast, which copies both keys.
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < 5; ++i) difference |= word(i) ^ other.word(i);
    return difference == 0;
  }

 private:
  std::uint64_t word(std::size_t i) const {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(this) + i * sizeof word, sizeof word);
    return word;
  }
};
static_assert(sizeof(FlowKey) == 40);

// A plan whose members are together has a key, too, which stands for all of them: `source` is made of the plan's name. No
// packet has this protocol with a port.
inline constexpr std::uint8_t kProtocolOfPlans = 255;
inline constexpr std::uint16_t kPortOfPlans = 0xffff;
inline bool is_plan_key(const FlowKey& key) {
  return key.protocol == kProtocolOfPlans && key.source_port == kPortOfPlans;
}

}  // namespace headgate
