// What stands in front of a frame where PACKET_VNET_HDR is set: struct virtio_net_hdr of linux/virtio_net.h, which C++
// cannot include. In the byte order of this machine.
#pragma once

#include <cstdint>

namespace headgate {

struct VirtioHeader {
  static constexpr std::uint8_t kNeedsChecksum = 1;  // flag
  static constexpr std::uint8_t kNoGso = 0;          // GSO types
  static constexpr std::uint8_t kGsoTcp4 = 1;
  static constexpr std::uint8_t kGsoTcp6 = 4;
  static constexpr std::uint8_t kGsoUdp = 5;     // UDP_L4, of both families; kernels take it since Linux 6.2
  static constexpr std::uint8_t kGsoEcn = 0x80;  // beside the type: the packet has CWR set

  std::uint8_t flags = 0;
  std::uint8_t gso_type = kNoGso;
  std::uint16_t header_length = 0;    // a hint
  std::uint16_t gso_size = 0;         // payload of a segment
  std::uint16_t checksum_start = 0;   // where the sum begins, from the start of the frame
  std::uint16_t checksum_offset = 0;  // where it is put, from there
};
static_assert(sizeof(VirtioHeader) == 10);

}  // namespace headgate
