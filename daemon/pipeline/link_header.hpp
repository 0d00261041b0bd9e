// What the packets of an interface begin with.
//
// Where there is no Ethernet header the divert program puts one in front of each packet that it copies, with the EtherType
// and without addresses. So whoever reads frames knows but one kind; who counts, shows or sends them leaves it out again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headgate {

enum class LinkHeader : std::uint8_t { ethernet, none };

inline constexpr std::size_t kEthernetHeaderBytes = 14;

// Of a frame in memory: what its packet does not have on the wire.
constexpr std::size_t added_bytes(LinkHeader header) {
  return header == LinkHeader::none ? kEthernetHeaderBytes : 0;
}

}  // namespace headgate
