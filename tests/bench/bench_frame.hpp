// The frames of the bench, as their source makes them and the far end reads them: IPv4 and UDP, one destination
// address a flow, and behind the headers the number of the packet among all that the source has sent.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headgate::bench {

constexpr std::uint32_t kFirstAddress =
    0x0a800000;  // 10.128.0.0: that of flow 0; the flow is in the lower bits
constexpr std::uint32_t kFlowsMax = 0x007fffff;
constexpr std::uint16_t kPort = 5900;

constexpr std::size_t kDestinationOffset = 30;
constexpr std::size_t kPortOffset = 36;
constexpr std::size_t kNumberOffset = 42;  // 8 bytes, big endian
constexpr std::size_t kSmallestFrame = kNumberOffset + 8;

}  // namespace headgate::bench
