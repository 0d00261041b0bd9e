#include "linux/match_packets.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "pipeline/super_packet.hpp"
#include "pipeline/virtio_header.hpp"
#include "support/packet_builder.hpp"

namespace headgate::test {

namespace {

constexpr std::size_t kNetworkAt = 14;
constexpr unsigned kIpv4 = 0x0800;
constexpr unsigned kTcp = 6, kUdp = 17;
constexpr unsigned kFin = 0x01, kPsh = 0x08, kCwr = 0x80;

unsigned byte_at(const Frame& frame, std::size_t at) {
  return std::to_integer<unsigned>(frame[at]);
}
unsigned word_at(const Frame& frame, std::size_t at) {
  return byte_at(frame, at) << 8 | byte_at(frame, at + 1);
}
void set_word(Frame& frame, std::size_t at, std::size_t value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}

// Where the parts of a super-packet begin.
struct Parts {
  bool ipv4;
  unsigned protocol;
  std::size_t transport;
  std::size_t payload;
};

Parts parts_of(const Frame& frame) {
  Parts parts{.ipv4 = word_at(frame, 12) == kIpv4, .protocol = 0, .transport = kNetworkAt + 40, .payload = 0};
  parts.protocol = byte_at(frame, kNetworkAt + (parts.ipv4 ? 9 : 6));
  if (parts.ipv4) parts.transport = kNetworkAt + 4 * (byte_at(frame, kNetworkAt) & 0xf);
  while (!parts.ipv4 && (parts.protocol == 0 || parts.protocol == 60)) {
    parts.protocol = byte_at(frame, parts.transport);
    parts.transport += 8 * (byte_at(frame, parts.transport + 1) + 1);
  }
  const std::size_t header = parts.protocol == kTcp ? 4 * (byte_at(frame, parts.transport + 12) >> 4) : 8;
  parts.payload = parts.transport + header;
  return parts;
}

// Bits in which segments may differ, as match_input.h has them.
void mark_varying(const Frame& frame, match_input& input) {
  const Parts parts = parts_of(frame);
  const auto mark = [&input](std::size_t from, std::size_t end) {
    for (std::size_t at = from; at < std::min<std::size_t>(end, MATCH_INPUT_BYTES); ++at)
      input.varying[at] = 0xff;
  };
  if (parts.ipv4) mark(kNetworkAt + 2, kNetworkAt + 6);
  if (parts.ipv4) mark(kNetworkAt + 10, kNetworkAt + 12);
  if (!parts.ipv4) mark(kNetworkAt + 4, kNetworkAt + 6);
  if (parts.protocol == kTcp) {
    const std::size_t flags = parts.transport + 13;
    mark(parts.transport + 4, parts.transport + 8);
    mark(parts.transport + 16, parts.transport + 18);
    if (flags < MATCH_INPUT_BYTES)
      input.varying[flags] = static_cast<std::uint8_t>(byte_at(frame, flags) & (kFin | kPsh | kCwr));
  } else {
    mark(parts.transport + 4, parts.transport + 8);
  }
  mark(parts.payload, MATCH_INPUT_BYTES);
}

std::vector<Frame> tcp_segments(const TestSuperPacket& packet, const Parts& parts) {
  VirtioHeader virtio{.flags = VirtioHeader::kNeedsChecksum,
                      .gso_type = static_cast<std::uint8_t>(parts.ipv4 ? VirtioHeader::kGsoTcp4 : 4),
                      .header_length = 0,
                      .gso_size = static_cast<std::uint16_t>(packet.segment_payload),
                      .checksum_start = static_cast<std::uint16_t>(parts.transport),
                      .checksum_offset = 16};
  Frame captured(sizeof virtio + packet.frame.size());
  std::memcpy(captured.data(), &virtio, sizeof virtio);
  std::memcpy(captured.data() + sizeof virtio, packet.frame.data(), packet.frame.size());
  const auto read = SuperPacket::read(std::span(captured).subspan(sizeof virtio), 0);
  std::vector<Frame> segments;
  for (std::size_t i = 0; read && i < read->segments(); ++i) {
    std::vector<std::byte> out(read->piece_bytes(i, 1));
    const auto piece = read->write_piece(i, 1, out);
    segments.emplace_back(piece.begin(), piece.end());
    set_word(segments.back(), parts.transport + 16, 0x1111 * (i + 1));  // the checksum will be finished
  }
  return segments;
}

std::vector<Frame> udp_segments(const TestSuperPacket& packet, const Parts& parts) {
  std::vector<Frame> segments;
  for (std::size_t from = parts.payload; from < packet.frame.size(); from += packet.segment_payload) {
    const std::size_t size = std::min(packet.segment_payload, packet.frame.size() - from);
    const auto headers_end = packet.frame.begin() + static_cast<std::ptrdiff_t>(parts.payload);
    const auto first = packet.frame.begin() + static_cast<std::ptrdiff_t>(from);
    Frame segment(packet.frame.begin(), headers_end);
    segment.insert(segment.end(), first, first + static_cast<std::ptrdiff_t>(size));
    const std::size_t length = segment.size() - kNetworkAt;
    if (parts.ipv4) {
      set_word(segment, kNetworkAt + 2, length);
      set_word(segment, kNetworkAt + 4, word_at(packet.frame, kNetworkAt + 4) + segments.size());
      set_word(segment, kNetworkAt + 10, 0x2222 * (segments.size() + 1));
    } else {
      set_word(segment, kNetworkAt + 4, length - 40);
    }
    set_word(segment, parts.transport + 4, segment.size() - parts.transport);
    set_word(segment, parts.transport + 6, 0x3333 * (segments.size() + 1));
    segments.push_back(std::move(segment));
  }
  return segments;
}

// Those of the expressions among others.
constexpr std::array kAddresses4{"10.0.0.1",  "10.0.0.2",  "10.0.0.77",   "10.1.2.3",
                                 "192.0.2.1", "224.0.0.1", "198.51.100.7"};
constexpr std::array kAddresses6{"2001:db8::1", "2001:db8::2", "fe80::dead:beef", "fd77::2", "ff02::1"};
constexpr std::array<std::uint16_t, 12> kPorts{22, 53, 67, 80, 123, 443, 1003, 4000, 5000, 5555, 6001, 4789};

std::vector<Frame> ordinary_frames() {
  std::vector<Frame> frames;
  const auto add = [&frames](const PacketBuilder& builder) { frames.push_back(builder.build()); };
  for (const std::size_t payload : {0U, 4U, 40U, 180U, 600U, 1400U}) {
    const auto v4 = [&] { return PacketBuilder().ipv4(kAddresses4[0], kAddresses4[4]).payload(payload); };
    const auto v6 = [&] { return PacketBuilder().ipv6(kAddresses6[0], kAddresses6[1]).payload(payload); };
    add(v4().udp(4000, 53));
    add(v4().tcp(4000, 443));
    add(v4().tcp(22, 5000).ipv4_options(3).dscp(46));
    add(v4().udp(5000, 5555).ipv4_options(10));
    add(v4().sctp(80, 6001));
    add(v4().icmp_echo());
    add(v4().protocol(2));
    add(v4().protocol(50));
    add(v4().protocol(17).fragment(1480, false));
    add(v4().udp(67, 68).fragment(0, true));
    add(v6().udp(4000, 53));
    add(v6().tcp(4000, 443).dscp(10));
    add(v6().hop_by_hop_options().destination_options().tcp(1003, 22));
    add(v6().fragment(0, true).udp(123, 123));
    add(v6().icmpv6(128));
    add(v6().routing_header().icmpv6(135));
  }
  add(PacketBuilder().arp("10.0.0.1", "10.0.0.2"));
  add(PacketBuilder().ether_type(0x8847).payload(60, 3));
  add(PacketBuilder().ether_type(0x8864).payload(80, 7));
  add(PacketBuilder().ether_type(0x0026).payload(80, 7));
  add(PacketBuilder().ether_type(0x88b5).payload(10));
  return frames;
}

}  // namespace

void describe(std::span<const std::byte> frame, match_input& input) {
  input.length = static_cast<std::uint32_t>(frame.size());
  input.verdict = 0x1234'5678;
  input.mark = 0;
  input.cgroups = 0;
  input.is_super_packet = 0;
  input.dscp = 0;
  const std::size_t copied = std::min<std::size_t>(frame.size(), MATCH_INPUT_BYTES);
  std::fill(std::begin(input.bytes), std::end(input.bytes), 0xa5);  // left by another packet
  std::fill(std::begin(input.varying), std::end(input.varying), 0);
  for (std::size_t i = 0; i < copied; ++i) input.bytes[i] = std::to_integer<std::uint8_t>(frame[i]);
}

void TestSuperPacket::describe(match_input& input) const {
  test::describe(frame, input);
  input.is_super_packet = 1;
  mark_varying(frame, input);
}

std::vector<Frame> TestSuperPacket::segments() const {
  const Parts parts = parts_of(frame);
  return parts.protocol == kTcp ? tcp_segments(*this, parts) : udp_segments(*this, parts);
}

PacketMutator::PacketMutator(std::uint32_t seed) : random_(seed), originals_(ordinary_frames()) {}

std::byte PacketMutator::odd_byte() {
  static constexpr std::array<std::uint8_t, 16> kOdd{0,    1,    2,    4,    6,    17,   0x45, 0x4f,
                                                     0x60, 0x7f, 0x80, 0xff, 0x08, 0x0f, 0x40, 58};
  return one_in(2) ? std::byte{kOdd[below(kOdd.size())]} : static_cast<std::byte>(below(256));
}

void PacketMutator::change_byte(Frame& frame) {
  if (frame.empty()) return;
  const std::size_t from = one_in(20) ? 0 : std::min<std::size_t>(12, frame.size() - 1);
  const std::size_t range = std::min<std::size_t>(frame.size(), one_in(4) ? 300 : 62) - from;
  if (range == 0 || range > frame.size()) return;
  frame[from + below(range)] = odd_byte();
}

void PacketMutator::put_address(Frame& frame) {
  std::array<std::byte, 16> address{};
  if (one_in(3) && frame.size() >= 54) {
    inet_pton(AF_INET6, kAddresses6[below(kAddresses6.size())], address.data());
    std::memcpy(frame.data() + (one_in(2) ? 22 : 38), address.data(), 16);
  } else if (frame.size() >= 34) {
    inet_pton(AF_INET, kAddresses4[below(kAddresses4.size())], address.data());
    std::memcpy(frame.data() + (one_in(2) ? 26 : 30), address.data(), 4);
  }
}

void PacketMutator::put_port(Frame& frame) {
  static constexpr std::array<std::size_t, 4> kPlaces{34, 36, 54, 56};
  const std::size_t at = kPlaces[below(kPlaces.size())];
  if (at + 2 <= frame.size()) set_word(frame, at, kPorts[below(kPorts.size())]);
}

Frame PacketMutator::next() {
  Frame frame = originals_[below(originals_.size())];
  if (one_in(2)) put_address(frame);
  if (one_in(2)) put_port(frame);
  if (one_in(10)) frame.resize(below(frame.size() + 1));
  if (one_in(10)) frame.resize(std::min<std::size_t>(frame.size(), 14 + below(80)));
  if (one_in(20)) frame.resize(MATCH_INPUT_BYTES - 8 + below(16), odd_byte());
  if (!one_in(4)) {
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change_byte(frame);
  }
  // No tags: what is matched has none.
  const unsigned type = frame.size() < 14 ? 0 : word_at(frame, 12);
  if (type == 0x8100 || type == 0x88a8) frame[12] = std::byte{0x08};
  return frame;
}

TestSuperPacket PacketMutator::next_super_packet() {
  PacketBuilder builder;
  const bool ipv4 = one_in(2);
  if (ipv4) {
    builder.ipv4(kAddresses4[below(kAddresses4.size())], kAddresses4[below(kAddresses4.size())]);
    builder.ipv4_options(one_in(2) ? 0 : static_cast<unsigned>(below(11)));
  } else {
    builder.ipv6(kAddresses6[below(kAddresses6.size())], kAddresses6[below(kAddresses6.size())]);
    if (one_in(4)) builder.destination_options();
  }
  builder.dscp(static_cast<std::uint8_t>(below(64)));
  const std::uint16_t source = kPorts[below(kPorts.size())], destination = kPorts[below(kPorts.size())];
  const bool tcp = !one_in(3);
  if (tcp) builder.tcp(source, destination);
  if (!tcp) builder.udp(source, destination);
  builder.payload(200 + below(700), static_cast<std::uint8_t>(below(256)));
  TestSuperPacket packet{.frame = builder.build(), .segment_payload = 40 + below(100)};
  const std::size_t transport = parts_of(packet.frame).transport;
  packet.frame[kNetworkAt + (ipv4 ? 8 : 7)] = odd_byte();  // time to live
  if (ipv4) set_word(packet.frame, kNetworkAt + 4, below(65'536));
  if (tcp) {
    packet.frame[transport + 12] = static_cast<std::byte>((5 + below(11)) << 4);
    packet.frame[transport + 13] = odd_byte();
    for (std::size_t at = 4; at < 12; ++at) packet.frame[transport + at] = odd_byte();
  }
  return packet;
}

}  // namespace headgate::test
