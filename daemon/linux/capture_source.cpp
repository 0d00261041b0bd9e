#include "linux/capture_source.hpp"

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "linux/packet_ring.hpp"
#include "linux/pcap_source.hpp"

namespace headgate {

namespace {

// Of one of several rings: a few milliseconds of packets.
constexpr std::size_t kFewestSlotsOfARing = 4'096;

// So many shapes have all that one can use. What a shape has at least is a few milliseconds of packets that come at the
// pace of a gigabit, or as many super-packets.
constexpr std::size_t kShapesWithoutSharing = 8;
constexpr std::size_t kFewestSlots = 2'048;
constexpr std::size_t kFewestBytes = 16UL * 1024 * 1024;

}  // namespace

CaptureShare CaptureShare::of_one_in(std::size_t shapes) {
  const CaptureShare all;
  const std::size_t sharing = std::max(shapes, kShapesWithoutSharing);
  return {.slots = std::max(all.slots * kShapesWithoutSharing / sharing, kFewestSlots),
          .bytes = std::max(all.bytes * kShapesWithoutSharing / sharing, kFewestBytes)};
}

CaptureMethod choose_capture(CaptureMethod wanted) {
  if (wanted != CaptureMethod::automatic) return wanted;
  static const bool has_ring_buffers = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, nullptr) == 1;
  return has_ring_buffers ? CaptureMethod::bpf : CaptureMethod::ring;
}

std::vector<std::unique_ptr<CaptureSource>> open_captures(CaptureMethod method, const CaptureOptions& options,
                                                          std::size_t count) {
  std::vector<std::unique_ptr<CaptureSource>> sources;
  if (method == CaptureMethod::pcap) {
    if (count != 1) throw std::invalid_argument("libpcap captures by one source only");
    sources.push_back(std::make_unique<PcapSource>(
        PcapSourceOptions{.device_index = options.device_index, .mtu = options.mtu}));
    return sources;
  }
  const std::size_t fewest = std::min(kFewestSlotsOfARing, options.share.slots);
  const PacketRing* first = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    auto ring = std::make_unique<PacketRing>(
        PacketRingOptions{.device_index = options.device_index,
                          .mtu = options.mtu,
                          .slots = static_cast<unsigned>(std::max(options.share.slots / count, fewest)),
                          .max_bytes = options.share.bytes,
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
