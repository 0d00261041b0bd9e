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

#include "pipeline/link_header.hpp"
#include "pipeline/packet_io.hpp"

namespace headgate {

class NotesTable;

struct PacketTransmitterOptions {
  int interface_index = 0;
  std::uint32_t mark = 0;
  bool qdisc_bypass = false;
  std::uint8_t prefix_bytes = 0;  // that each frame begins with: pipeline/frame_prefix.hpp
  NotesTable* notes = nullptr;  // where the program finds what was noted beside a packet; null: that is lost
  // The place by which the program knows the shape of what is sent on the divert device's peer; 0: it has no others.
  std::uint32_t shape = 0;
  bool sends_on_peer = false;  // interface_index is that peer
  // Of the interface. None: frames have one all the same, that is not sent, and the virtio header counts it.
  LinkHeader link_header = LinkHeader::ethernet;
  int detour_index = 0;  // TrafficDivert::peer_index(); 0: no detour
  unsigned mtu = 1500;   // of the interface; only matters for the detour
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
