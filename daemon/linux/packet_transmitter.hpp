// Sends frames on an interface by sendmmsg on a packet socket, marked so that the divert lets them pass.
//
// Through the interface's qdisc, or around it. Drain thread. Allocates nothing after construction. When the
// socket buffer or the qdisc is full, send() waits for at most kRetry in all, then gives up what does not get
// through.
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

  // Frames that the kernel refuses for another reason (too long, device down or gone) are given up at once,
  // each alone.
  void send(std::span<const OutgoingFrame> frames, std::span<bool> sent) override;

  // Any thread, from the next packet on. Throws std::system_error.
  void set_qdisc_bypass(bool on);

  static constexpr Duration kRetry = std::chrono::milliseconds(5);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
