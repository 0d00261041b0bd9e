#include "linux/capture_source.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "linux/packet_ring.hpp"
#include "linux/pcap_source.hpp"

namespace headgate {

namespace {

// Of all rings together, and what one has at least: a few milliseconds of packets.
constexpr std::size_t kSlots = 16'384;
constexpr std::size_t kFewestSlots = 4'096;

}  // namespace

std::vector<std::unique_ptr<CaptureSource>> open_captures(CaptureMethod method, const CaptureOptions& options,
                                                          std::size_t count) {
  std::vector<std::unique_ptr<CaptureSource>> sources;
  if (method == CaptureMethod::pcap) {
    if (count != 1) throw std::invalid_argument("libpcap captures by one source only");
    sources.push_back(std::make_unique<PcapSource>(
        PcapSourceOptions{.device_index = options.device_index, .mtu = options.mtu}));
    return sources;
  }
  const PacketRing* first = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    auto ring = std::make_unique<PacketRing>(
        PacketRingOptions{.device_index = options.device_index,
                          .mtu = options.mtu,
                          .slots = static_cast<unsigned>(std::max(kSlots / count, kFewestSlots)),
                          .virtio_header = options.virtio_header,
                          .several_consumers = count > 1});
    if (first != nullptr) ring->share_packets_of(*first);
    if (first == nullptr && count > 1) ring->share_packets();
    if (first == nullptr) first = ring.get();
    sources.push_back(std::move(ring));
  }
  return sources;
}

}  // namespace headgate
