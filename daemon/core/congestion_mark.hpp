// Explicit congestion notification (RFC 3168) in a stored frame: what its IP header says, and marking it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headgate {

enum class Ecn : std::uint8_t {
  not_capable = 0,
  l4s = 1,  // ECT(1), of RFC 9331: wants to be marked early
  capable = 2,
  marked = 3,
};

// Of the outermost IP header of an Ethernet frame; not_capable where there is none. Reads no further than its bytes.
Ecn ecn_of(std::span<const std::byte> frame);

// "Congestion experienced", with the header checksum brought up to date. The frame must be capable.
void mark_congestion(std::span<std::byte> frame);

}  // namespace headgate
