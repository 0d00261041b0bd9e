#include "linux/capture_source.hpp"

#include "linux/packet_ring.hpp"
#include "linux/pcap_source.hpp"

namespace headgate {

std::unique_ptr<CaptureSource> open_capture(CaptureMethod method, int interface_index, unsigned mtu) {
  if (method == CaptureMethod::pcap)
    return std::make_unique<PcapSource>(PcapSourceOptions{.interface_index = interface_index, .mtu = mtu});
  return std::make_unique<PacketRing>(PacketRingOptions{.interface_index = interface_index, .mtu = mtu});
}

}  // namespace headgate
