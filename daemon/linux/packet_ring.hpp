// Capture of what is sent on a device by an AF_PACKET TPACKET_V2 ring. V2, not V3: V3's block timeout costs milliseconds.
//
// The kernel fills the ring while the sender still sends, so what one sends after another comes after it, whatever
// processor each is sent on. What arrives at the device is not captured.
// A slot holds one frame of the device's MTU, with room for two VLAN tags; a longer frame arrives clipped. With virtio
// headers it holds any TCP super-packet, and each frame comes with its struct virtio_net_hdr right in front of it
// (CapturedFrame::prefix_bytes), which counts the tag that the kernel stripped as part of the frame.
// Several rings on one device may share its packets (share_packets()): the kernel then gives each packet to one of them,
// by a hash of addresses, protocol and ports (connection_hash.hpp), so that what belongs together comes by one ring, in
// order. Fragments go by addresses and, in IPv4, protocol alone, all of them, the first too.
// When all slots are taken the kernel drops what comes and counts it (lost()). The ring survives its device
// being down; when the device is deleted, receive() throws once it is empty.
#pragma once

#include <cstdint>
#include <memory>

#include "linux/capture_source.hpp"

namespace headgate {

inline constexpr std::size_t kMaxRingBytes = 64 * 1024 * 1024;

struct PacketRingOptions {
  int device_index = 0;
  unsigned mtu = 1500;                    // bytes after the Ethernet header
  unsigned slots = 16'384;                // rounded up to fill whole blocks of memory
  std::size_t max_bytes = kMaxRingBytes;  // of them; fewer where they would need more
  bool virtio_header = false;

  // More than one thread gives slots back, so they return in no order. Costs a mark in each slot that is received.
  bool several_consumers = false;
};

class PacketRing : public CaptureSource {
 public:
  explicit PacketRing(const PacketRingOptions& options);  // throws std::system_error
  ~PacketRing() override;

  std::size_t receive(std::span<CapturedFrame> out) override;
  Duration waited() const override;
  void give_back(std::span<const std::uint32_t> slots) override;
  std::size_t slots() const override;

  bool waiting() const override;
  int descriptor() const override;
  void note_error() override;

  // Before packets arrive that matter: a ring that is to share them starts or joins the group of the first.
  void share_packets();                            // throws std::system_error
  void share_packets_of(const PacketRing& first);  // likewise

  CaptureCounts counts() const override;  // tp_packets and tp_drops, accumulated

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
