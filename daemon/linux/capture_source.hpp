// A packet source that captures from a network device, by one of two methods.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headgate/config.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class CaptureSource : public PacketSource {
 public:
  // Any thread. Packets since construction that found no room.
  virtual std::uint64_t lost() const = 0;
};

struct CaptureOptions {
  int interface_index = 0;
  unsigned mtu = 1500;         // bytes behind the Ethernet header and two VLAN tags
  bool virtio_header = false;  // the ring only
};

// Captures what arrives at the device, by `count` sources that share it (see PacketRing::share_packets()), each with its
// part of the slots. Libpcap: one source, no more. Throws std::system_error or std::runtime_error.
std::vector<std::unique_ptr<CaptureSource>> open_captures(CaptureMethod method, const CaptureOptions& options,
                                                          std::size_t count);

}  // namespace headgate
