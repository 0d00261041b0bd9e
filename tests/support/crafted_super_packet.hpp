// Super-packets of TCP and UDP as a host hands them to its interface: with a virtio header in front, lengths of the whole,
// and the sum of the pseudo-header where the checksum will be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/virtio_header.hpp"
#include "support/packet_builder.hpp"

namespace headgate {

inline constexpr std::size_t kVirtioBytes = sizeof(VirtioHeader);
inline constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kPsh = 0x08, kAck = 0x10, kUrg = 0x20, kEce = 0x40,
                              kCwr = 0x80;

struct CraftedSuperPacket {
  enum class Protocol { tcp, udp };

  std::string name;
  PacketBuilder builder;  // tags, addresses, options and extension headers
  Protocol protocol = Protocol::tcp;
  std::size_t payload = 0;
  std::uint16_t segment_bytes = 0;  // a payload of no more makes an ordinary packet
  std::uint8_t first_byte = 0;      // of the payload, which counts up
  std::uint8_t flags = kAck;
  std::uint32_t sequence = 1000;
  std::uint16_t identification = 7;
  bool dont_fragment = true;
  std::size_t tcp_option_words = 0;
  std::size_t linear_payload = 0;  // that the header says to be in one piece with the headers
  bool knows_header_length = true;

  bool udp() const { return protocol == Protocol::udp; }
  std::size_t segments() const { return (payload + segment_bytes - 1) / segment_bytes; }
};

inline void set_word(std::vector<std::byte>& frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}
inline unsigned word_of(const std::vector<std::byte>& frame, std::size_t at) {
  return std::to_integer<unsigned>(frame[at]) << 8 | std::to_integer<unsigned>(frame[at + 1]);
}
inline unsigned sum_of_words(const std::vector<std::byte>& frame, std::size_t from, std::size_t to,
                             unsigned sum = 0) {
  for (; from < to; from += 2) sum += word_of(frame, from);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

inline std::size_t network_of(const std::vector<std::byte>& frame) {
  std::size_t at = 12;
  while (frame[at] == std::byte{0x81} || frame[at] == std::byte{0x88}) at += 4;
  return at + 2;
}

// Where a tag stands beside the frame.
inline std::vector<std::byte> without_first_tag(std::vector<std::byte> with_prefix) {
  const auto tag = with_prefix.begin() + kVirtioBytes + 12;
  with_prefix.erase(tag, tag + 4);
  return with_prefix;
}
inline std::vector<std::byte> with_first_tag_of(const std::vector<std::byte>& tagged,
                                                std::vector<std::byte> with_prefix) {
  const auto at = static_cast<std::ptrdiff_t>(kVirtioBytes + 12);
  with_prefix.insert(with_prefix.begin() + at, tagged.begin() + at, tagged.begin() + at + 4);
  return with_prefix;
}

inline std::span<const std::byte> frame_of(const std::vector<std::byte>& with_prefix) {
  return std::span(with_prefix).subspan(kVirtioBytes);
}
inline VirtioHeader& header_of(std::vector<std::byte>& with_prefix) {
  return *reinterpret_cast<VirtioHeader*>(with_prefix.data());
}

inline std::vector<std::byte> build(const CraftedSuperPacket& crafted) {
  PacketBuilder builder = crafted.builder;
  if (crafted.udp())
    builder.udp(4000, 80);
  else
    builder.tcp(4000, 80);
  std::vector<std::byte> frame = builder.payload(crafted.payload, crafted.first_byte).build();
  const std::size_t network = network_of(frame);
  const bool ipv4 = frame[network] >> 4 == std::byte{4};
  const std::size_t fixed = crafted.udp() ? 8 : 20;
  const std::size_t transport = frame.size() - crafted.payload - fixed;
  const std::size_t options = crafted.udp() ? 0 : crafted.tcp_option_words * 4;
  const std::size_t checksum = crafted.udp() ? 6 : 16;
  if (!crafted.udp()) {
    frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(transport + fixed), options, std::byte{1});
    frame[transport + 12] = static_cast<std::byte>((5 + crafted.tcp_option_words) << 4);
    frame[transport + 13] = std::byte{crafted.flags};
    set_word(frame, transport + 4, crafted.sequence >> 16);
    set_word(frame, transport + 6, crafted.sequence & 0xffff);
    set_word(frame, transport + 18, (crafted.flags & kUrg) != 0 ? 99 : 0);
  }
  if (ipv4) {
    set_word(frame, network + 2, static_cast<unsigned>(frame.size() - network));
    set_word(frame, network + 4, crafted.identification);
    set_word(frame, network + 6, crafted.dont_fragment ? 0x4000 : 0);
    set_word(frame, network + 10, 0);
    set_word(frame, network + 10, ~sum_of_words(frame, network, transport));
  } else {
    set_word(frame, network + 4, static_cast<unsigned>(frame.size() - network - 40));
  }
  const std::size_t addresses = network + (ipv4 ? 12 : 8);
  const unsigned length_and_protocol =
      static_cast<unsigned>(frame.size() - transport) + (crafted.udp() ? 17 : 6);
  set_word(frame, transport + checksum,
           sum_of_words(frame, addresses, addresses + (ipv4 ? 8 : 32), length_and_protocol));

  VirtioHeader header{};
  header.flags = VirtioHeader::kNeedsChecksum;
  if (crafted.payload > crafted.segment_bytes) {
    header.gso_type = ipv4 ? VirtioHeader::kGsoTcp4 : VirtioHeader::kGsoTcp6;
    if (crafted.udp()) header.gso_type = VirtioHeader::kGsoUdp;
    if (!crafted.udp() && (crafted.flags & kCwr) != 0) header.gso_type |= VirtioHeader::kGsoEcn;
    header.gso_size = crafted.segment_bytes;
  }
  if (crafted.knows_header_length)
    header.header_length = static_cast<std::uint16_t>(transport + fixed + options + crafted.linear_payload);
  header.checksum_start = static_cast<std::uint16_t>(transport);
  header.checksum_offset = static_cast<std::uint16_t>(checksum);
  const auto* bytes = reinterpret_cast<const std::byte*>(&header);
  frame.insert(frame.begin(), bytes, bytes + sizeof header);
  return frame;
}

// Segment `number` of a UDP super-packet, built by itself.
inline std::vector<std::byte> build_datagram(CraftedSuperPacket crafted, std::size_t number) {
  const std::size_t before = number * crafted.segment_bytes;
  crafted.linear_payload = 0;
  crafted.payload = std::min<std::size_t>(crafted.payload - before, crafted.segment_bytes);
  crafted.first_byte = static_cast<std::uint8_t>(crafted.first_byte + before);
  crafted.identification = static_cast<std::uint16_t>(crafted.identification + number);
  return build(crafted);
}

}  // namespace headgate
