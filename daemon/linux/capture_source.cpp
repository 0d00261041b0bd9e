#include "linux/capture_source.hpp"

#include "linux/packet_ring.hpp"
#include "linux/pcap_source.hpp"

namespace headgate {

std::unique_ptr<CaptureSource> open_capture(CaptureMethod method, const CaptureOptions& options) {
  if (method == CaptureMethod::pcap) {
    return std::make_unique<PcapSource>(
        PcapSourceOptions{.interface_index = options.interface_index, .mtu = options.mtu});
  }
  return std::make_unique<PacketRing>(PacketRingOptions{.interface_index = options.interface_index,
                                                        .mtu = options.mtu,
                                                        .virtio_header = options.virtio_header});
}

}  // namespace headgate
