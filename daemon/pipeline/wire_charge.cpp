#include "pipeline/wire_charge.hpp"

#include <algorithm>
#include <cstring>

#include "pipeline/virtio_header.hpp"

namespace headgate {

namespace {

constexpr std::uint32_t kTagBytes = 4;

constexpr std::uint32_t kUdpHeader = 8;
constexpr std::uint32_t kTcpHeader = 20;

// Bytes in front of the payload. The transport header begins where its checksum does: super-packets have partial ones.
std::uint32_t header_bytes(const CapturedFrame& captured, const VirtioHeader& virtio) {
  const std::uint32_t transport = virtio.checksum_start;
  if ((virtio.gso_type & ~VirtioHeader::kGsoEcn) == VirtioHeader::kGsoUdp) return transport + kUdpHeader;
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
  std::memcpy(&virtio, captured.frame.data() - sizeof virtio, sizeof virtio);
  if (virtio.gso_type == VirtioHeader::kNoGso || virtio.gso_size == 0) return one;
  // The source has moved the checksum's place behind the tag that it will stand behind when sent.
  virtio.checksum_start = static_cast<std::uint16_t>(virtio.checksum_start - tag);
  const std::uint32_t headers = std::min(header_bytes(captured, virtio), captured.wire_length);
  const std::uint32_t payload = captured.wire_length - headers;
  const std::uint32_t segments = std::max(1u, (payload + virtio.gso_size - 1) / virtio.gso_size);
  return {segments, payload + std::uint64_t{segments} * (headers + tag)};
}

}  // namespace headgate
