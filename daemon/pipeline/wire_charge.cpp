#include "pipeline/wire_charge.hpp"

#include <algorithm>
#include <cstring>

namespace headgate {

namespace {

constexpr std::uint32_t kTagBytes = 4;

// struct virtio_net_hdr without the number of buffers, in the byte order of this machine as packet(7) gives it.
struct VirtioHeader {
  std::uint8_t flags;
  std::uint8_t gso_type;
  std::uint16_t header_length;
  std::uint16_t gso_size;
  std::uint16_t checksum_start;
  std::uint16_t checksum_offset;
};
static_assert(sizeof(VirtioHeader) == 10);

constexpr std::uint8_t kNoGso = 0;
constexpr std::uint8_t kGsoUdp = 5;  // UDP_L4
constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint32_t kTcpHeader = 20;

// Bytes in front of the payload. The transport header begins where its checksum does: super-packets have partial ones.
std::uint32_t header_bytes(const CapturedFrame& captured, const VirtioHeader& virtio) {
  const std::uint32_t transport = virtio.checksum_start;
  if ((virtio.gso_type & 0x7f) == kGsoUdp) return transport + kUdpHeader;
  constexpr std::uint32_t kDataOffset = 12;
  if (transport + kDataOffset >= captured.frame.size()) return transport + kTcpHeader;
  const auto words = static_cast<std::uint32_t>(captured.frame[transport + kDataOffset]) >> 4;
  return transport + words * 4;
}

}  // namespace

Count wire_charge(const CapturedFrame& captured) {
  const std::uint32_t tag = captured.vlan_tpid != 0 ? kTagBytes : 0;
  const Count one{1, captured.wire_length + tag};
  if (captured.prefix_bytes < sizeof(VirtioHeader)) return one;
  VirtioHeader virtio;
  std::memcpy(&virtio, captured.frame.data() - captured.prefix_bytes, sizeof virtio);
  if (virtio.gso_type == kNoGso || virtio.gso_size == 0) return one;
  // The source has moved the checksum's place behind the tag that it will stand behind when sent.
  virtio.checksum_start = static_cast<std::uint16_t>(virtio.checksum_start - tag);
  const std::uint32_t headers = std::min(header_bytes(captured, virtio), captured.wire_length);
  const std::uint32_t payload = captured.wire_length - headers;
  const std::uint32_t segments = std::max(1u, (payload + virtio.gso_size - 1) / virtio.gso_size);
  return {segments, payload + std::uint64_t{segments} * (headers + tag)};
}

}  // namespace headgate
