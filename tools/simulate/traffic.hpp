// What comes to a simulated shape: packets with the times at which they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "headgate/clock.hpp"
#include "pipeline/link_header.hpp"

namespace headgate {

struct OfferedPacket {
  Instant at{};
  // Begins with an Ethernet header, and may end before the packet did: what is missing is taken for zeros.
  std::span<const std::byte> frame;
  std::uint32_t length = 0;  // bytes of the whole frame; at most kLongestOffered
  // none: on its link the packet has no Ethernet header, and none is counted.
  LinkHeader link_header = LinkHeader::ethernet;
  std::uint32_t mark = 0;  // the firewall's
};

inline constexpr std::uint32_t kLongestOffered = 65'535 + kEthernetHeaderBytes;

// One thread. Deterministic: the same traffic gives the same packets.
class Traffic {
 public:
  virtual ~Traffic() = default;

  // In order of time. Null: that was all. Valid until the next call. Throws std::runtime_error, a sentence.
  virtual const OfferedPacket* next() = 0;

  // How much of it has been read, 0 to 1; none: nobody knows.
  virtual std::optional<double> progress() const { return std::nullopt; }
};

}  // namespace headgate
