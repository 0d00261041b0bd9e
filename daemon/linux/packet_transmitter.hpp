// Sends frames on an interface by sendmmsg on a packet socket, marked so that the divert lets them pass.
//
// Through the interface's qdisc, or around it. The worker's thread. Allocates nothing after construction. A frame that the
// kernel refuses, for a full qdisc or whatever reason, is given up at once, and alone: waiting for room would hold up
// everything else that the worker sends. The socket's buffer is as large as it may be, so that a deep qdisc of one
// destination does not use it up.
//
// The kernel takes no frame from a packet socket that is longer than the MTU by more than one 802.1Q tag, though VLAN
// devices send them. Such a frame takes a detour: sent on the divert device's peer, a program sends it out of the interface.
#pragma once

#include <cstdint>
#include <memory>

#include "pipeline/packet_io.hpp"

namespace headgate {

struct PacketTransmitterOptions {
  int interface_index = 0;
  std::uint32_t mark = 0;
  bool qdisc_bypass = false;
  bool virtio_header = false;  // each frame begins with a struct virtio_net_hdr
  int detour_index = 0;        // TrafficDivert::peer_index(); 0: no detour
  unsigned mtu = 1500;         // of the interface; only matters for the detour
};

class PacketTransmitter : public PacketSink {
 public:
  explicit PacketTransmitter(const PacketTransmitterOptions& options);  // throws std::system_error
  ~PacketTransmitter() override;

  void send(std::span<const OutgoingFrame> frames, std::span<bool> sent) override;

  // Any thread, from the next packet on. Throws std::system_error.
  void set_qdisc_bypass(bool on);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
