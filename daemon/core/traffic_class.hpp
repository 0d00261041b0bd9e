// The traffic class of a stored frame's outermost IP header (RFC 2474, 3168): the code point in its upper six bits, explicit
// congestion notification in the lower two. Of an Ethernet frame with at most kMaxTags tags. Reads no further than its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace headgate {

// None where there is no IP header.
std::optional<std::uint8_t> traffic_class_of(std::span<const std::byte> frame);

// With the header checksum brought up to date, that was right before. There must be an IP header.
void set_traffic_class(std::span<std::byte> frame, std::uint8_t traffic_class);

// The code point alone.
void set_dscp(std::span<std::byte> frame, std::uint8_t dscp);

}  // namespace headgate
