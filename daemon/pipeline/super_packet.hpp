// TCP and UDP super-packets (GSO, GRO) and the pieces that they are cut into. A piece holds some of the segments: one of
// them is an ordinary packet, more are a smaller super-packet.
//
// What the headers of a piece say is what the kernel's own segmentation (net/ipv4/tcp_offload.c, udp_offload.c) would say:
// lengths, the IPv4 identification counted on by segments, TCP's sequence number by bytes; CWR stays with the first piece,
// FIN and PSH with the last. The TCP or UDP checksum stays unfinished, as the virtio header says.
//
// Of the virtio header only the type, the size of a segment and the place of the checksum count, not header_length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "headgate/clock.hpp"
#include "pipeline/virtio_header.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

class SuperPacket {
 public:
  // Of a frame without the tag that the kernel stripped, of `stripped_bytes` (0 or 4), with its virtio header in front of it
  // in memory; that counts the tag as part of the frame. None: it is no super-packet, or none of those that can be cut:
  // TCP or UDP right behind IPv4 or IPv6 with at most two tags in the frame, and with lengths that agree (BIG TCP says none).
  static std::optional<SuperPacket> read(std::span<const std::byte> frame, std::size_t stripped_bytes);

  std::size_t segments() const { return segments_; }
  bool is_udp() const;

  // Of the piece of `count` segments from segment `first` on.
  std::size_t piece_bytes(std::size_t first, std::size_t count) const;  // the virtio header too
  Count charge(std::size_t first, std::size_t count) const;             // as wire_charge() has it

  // Writes its virtio header and its frame; `out` has room for piece_bytes(). Returns the frame, the virtio header right in
  // front of it.
  std::span<const std::byte> write_piece(std::size_t first, std::size_t count,
                                         std::span<std::byte> out) const;

 private:
  std::size_t payload_bytes(std::size_t first, std::size_t count) const;
  void set_network_length(std::span<std::byte> frame, std::size_t first) const;
  void set_transport(std::span<std::byte> frame, std::size_t first, bool last) const;

  std::span<const std::byte> frame_;
  VirtioHeader virtio_;
  std::size_t stripped_bytes_ = 0;
  std::size_t network_ = 0;    // where the headers begin in the frame
  std::size_t transport_ = 0;  // likewise
  std::size_t payload_ = 0;    // likewise, what follows them
  std::size_t segments_ = 0;
  bool ipv4_ = false;
};

// How many segments may leave together of a class: so many that they take at most kLongestPiece at its rate and at most a
// quarter of its queue, in which packets by themselves would find room; at least one. Of a
// policed class one: each is judged by itself. `segment` is the charge of one.
inline constexpr Duration kLongestPiece = std::chrono::microseconds(125);
inline constexpr unsigned kPiecesOfAQueue = 4;
std::size_t segments_at_once(const ClassConfig& config, const Count& segment);

}  // namespace headgate
