// A packet source that captures what is sent on a network device, the divert's, by one of two methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/packet_io.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Packets since construction.
struct CaptureCounts {
  std::uint64_t seen = 0;  // that the kernel had for this source, lost ones too
  std::uint64_t lost = 0;  // that found no room
};

class CaptureSource : public PacketSource {
 public:
  virtual CaptureCounts counts() const = 0;  // any thread
};

// What the rings of one shape may take. The kernel takes the memory of a ring at once, so the shapes of a daemon share it:
// up to eight have all that one can use, more have equal parts of that, though not less than serves one shape.
struct CaptureShare {
  std::size_t slots = 16'384;              // of all rings of the shape together
  std::size_t bytes = 64UL * 1024 * 1024;  // of each ring, whose slots are fewer where they would need more

  static CaptureShare of_one_in(std::size_t shapes);
};

// The method that is meant: automatic is chosen by what the kernel has.
CaptureMethod choose_capture(CaptureMethod wanted);

struct CaptureOptions {
  int device_index = 0;
  unsigned mtu = 1500;         // bytes behind the Ethernet header and two VLAN tags
  bool virtio_header = false;  // the ring only
  CaptureShare share;          // the ring only
};

// Captures what is sent on the device, by `count` sources that share it (see PacketRing::share_packets()), each with its
// part of the slots. Libpcap: one source, no more. Throws std::system_error or std::runtime_error.
std::vector<std::unique_ptr<CaptureSource>> open_captures(CaptureMethod method, const CaptureOptions& options,
                                                          std::size_t count);

}  // namespace headgate
