// A packet source that captures from a network device, by one of two methods.
#pragma once

#include <cstdint>
#include <memory>

#include "headgate/config.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class CaptureSource : public PacketSource {
 public:
  // Any thread. Packets since construction that found no room.
  virtual std::uint64_t lost() const = 0;
};

// Captures what arrives at the device, frames of up to `mtu` bytes behind the Ethernet header and two VLAN tags.
// Throws std::system_error or std::runtime_error.
std::unique_ptr<CaptureSource> open_capture(CaptureMethod method, int interface_index, unsigned mtu);

}  // namespace headgate
