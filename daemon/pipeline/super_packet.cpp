#include "pipeline/super_packet.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "core/bucket_parameters.hpp"

namespace headgate {

namespace {

constexpr std::size_t kTypeAt = 12;
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kTagsMax = 2;
constexpr unsigned kIpv4 = 0x0800, kIpv6 = 0x86dd, kTag = 0x8100, kServiceTag = 0x88a8;

constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40, kTcpBytes = 20, kUdpBytes = 8;
constexpr unsigned kTcp = 6, kUdp = 17;
constexpr std::size_t kTcpChecksumAt = 16, kUdpChecksumAt = 6, kUdpLengthAt = 4;

constexpr std::uint8_t kFin = 0x01, kPsh = 0x08, kCwr = 0x80;

std::uint8_t type_of(const VirtioHeader& virtio) {
  return virtio.gso_type & static_cast<std::uint8_t>(~VirtioHeader::kGsoEcn);
}

unsigned byte_at(std::span<const std::byte> frame, std::size_t at) {
  return std::to_integer<unsigned>(frame[at]);
}
unsigned word_at(std::span<const std::byte> frame, std::size_t at) {
  return byte_at(frame, at) << 8 | byte_at(frame, at + 1);
}
void set_word(std::span<std::byte> frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value >> 8);
  frame[at + 1] = static_cast<std::byte>(value);
}

unsigned folded(std::uint32_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

// RFC 1071.
unsigned ones_complement_sum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += word_at(bytes, at);
  return folded(sum);
}

// Where the network header begins, and its type.
struct Network {
  std::size_t at;
  unsigned type;
};
std::optional<Network> find_network(std::span<const std::byte> frame) {
  std::size_t at = kTypeAt;
  for (std::size_t tags = 0; tags <= kTagsMax && at + 2 <= frame.size(); ++tags, at += kTagBytes) {
    const unsigned type = word_at(frame, at);
    if (type != kTag && type != kServiceTag) return Network{at + 2, type};
  }
  return std::nullopt;
}

// Where the header behind it begins, and the protocol; if the lengths say that the frame ends with the packet.
struct Transport {
  std::size_t at;
  unsigned protocol;
};
std::optional<Transport> end_of_ipv4(std::span<const std::byte> frame, std::size_t at) {
  constexpr unsigned kFragment = 0x3fff;
  if (at + kIpv4Bytes > frame.size() || byte_at(frame, at) >> 4 != 4) return std::nullopt;
  const std::size_t header = (byte_at(frame, at) & 0xf) * std::size_t{4};
  const bool plain = header >= kIpv4Bytes && (word_at(frame, at + 6) & kFragment) == 0;
  if (!plain || word_at(frame, at + 2) != frame.size() - at) return std::nullopt;
  return Transport{at + header, byte_at(frame, at + 9)};
}

// Hop-by-hop options, routing and destination options may stand in between.
std::optional<Transport> end_of_ipv6(std::span<const std::byte> frame, std::size_t at) {
  constexpr unsigned kHopByHop = 0, kRouting = 43, kDestination = 60;
  if (at + kIpv6Bytes > frame.size() || byte_at(frame, at) >> 4 != 6) return std::nullopt;
  if (word_at(frame, at + 4) != frame.size() - at - kIpv6Bytes) return std::nullopt;
  unsigned next = byte_at(frame, at + 6);
  at += kIpv6Bytes;
  while (next == kHopByHop || next == kRouting || next == kDestination) {
    if (at + 2 > frame.size()) return std::nullopt;
    next = byte_at(frame, at);
    at += (byte_at(frame, at + 1) + 1) * std::size_t{8};
  }
  return Transport{at, next};
}

// The bytes of the header itself, if it says that they are in the frame.
std::optional<std::size_t> tcp_header_bytes(std::span<const std::byte> frame, std::size_t at) {
  if (at + kTcpBytes > frame.size()) return std::nullopt;
  const std::size_t bytes = (byte_at(frame, at + 12) >> 4) * std::size_t{4};
  if (bytes < kTcpBytes) return std::nullopt;
  return bytes;
}
std::optional<std::size_t> udp_header_bytes(std::span<const std::byte> frame, std::size_t at) {
  if (at + kUdpBytes > frame.size()) return std::nullopt;
  if (word_at(frame, at + kUdpLengthAt) != frame.size() - at) return std::nullopt;
  return kUdpBytes;
}

}  // namespace

std::optional<SuperPacket> SuperPacket::read(std::span<const std::byte> frame, std::size_t stripped_bytes) {
  SuperPacket packet;
  std::memcpy(&packet.virtio_, frame.data() - sizeof(VirtioHeader), sizeof(VirtioHeader));
  const VirtioHeader& virtio = packet.virtio_;
  const std::uint8_t type = type_of(virtio);
  const bool udp = packet.is_udp();
  if ((type != VirtioHeader::kGsoTcp4 && type != VirtioHeader::kGsoTcp6 && !udp) || virtio.gso_size == 0)
    return std::nullopt;
  if ((virtio.flags & VirtioHeader::kNeedsChecksum) == 0) return std::nullopt;
  if (virtio.checksum_offset != (udp ? kUdpChecksumAt : kTcpChecksumAt)) return std::nullopt;
  const auto network = find_network(frame);
  if (!network || (network->type != kIpv4 && network->type != kIpv6)) return std::nullopt;
  packet.ipv4_ = network->type == kIpv4;
  const auto transport = packet.ipv4_ ? end_of_ipv4(frame, network->at) : end_of_ipv6(frame, network->at);
  if (!transport || transport->protocol != (udp ? kUdp : kTcp)) return std::nullopt;
  if (transport->at + stripped_bytes != virtio.checksum_start) return std::nullopt;
  const auto header = udp ? udp_header_bytes(frame, transport->at) : tcp_header_bytes(frame, transport->at);
  if (!header || transport->at + *header >= frame.size()) return std::nullopt;
  packet.frame_ = frame;
  packet.stripped_bytes_ = stripped_bytes;
  packet.network_ = network->at;
  packet.transport_ = transport->at;
  packet.payload_ = transport->at + *header;
  packet.segments_ = (frame.size() - packet.payload_ + virtio.gso_size - 1) / virtio.gso_size;
  if (packet.segments_ < 2) return std::nullopt;
  return packet;
}

bool SuperPacket::is_udp() const {
  return type_of(virtio_) == VirtioHeader::kGsoUdp;
}

std::size_t SuperPacket::payload_bytes(std::size_t first, std::size_t count) const {
  return std::min(count * virtio_.gso_size, frame_.size() - payload_ - first * virtio_.gso_size);
}

std::size_t SuperPacket::piece_bytes(std::size_t first, std::size_t count) const {
  return sizeof(VirtioHeader) + payload_ + payload_bytes(first, count);
}

Count SuperPacket::charge(std::size_t first, std::size_t count) const {
  return {count, payload_bytes(first, count) + count * (payload_ + stripped_bytes_)};
}

std::span<const std::byte> SuperPacket::write_piece(std::size_t first, std::size_t count,
                                                    std::span<std::byte> out) const {
  const std::size_t payload = payload_bytes(first, count);
  VirtioHeader virtio = virtio_;
  // As it was captured it tells how much of the packet its sender's memory had in one piece, perhaps more than this one has.
  virtio.header_length = static_cast<std::uint16_t>(payload_ + stripped_bytes_);
  if (count == 1) virtio.gso_type = VirtioHeader::kNoGso;
  if (count == 1) virtio.gso_size = 0;
  if (first > 0) virtio.gso_type &= static_cast<std::uint8_t>(~VirtioHeader::kGsoEcn);
  std::memcpy(out.data(), &virtio, sizeof virtio);
  const std::span<std::byte> frame = out.subspan(sizeof virtio, payload_ + payload);
  std::memcpy(frame.data(), frame_.data(), payload_);
  std::memcpy(frame.data() + payload_, frame_.data() + payload_ + first * virtio_.gso_size, payload);
  set_network_length(frame, first);
  set_transport(frame, first, first + count >= segments_);
  return frame;
}

void SuperPacket::set_network_length(std::span<std::byte> frame, std::size_t first) const {
  if (!ipv4_)
    return set_word(frame, network_ + 4, static_cast<unsigned>(frame.size() - network_ - kIpv6Bytes));
  set_word(frame, network_ + 2, static_cast<unsigned>(frame.size() - network_));
  set_word(frame, network_ + 4, word_at(frame, network_ + 4) + static_cast<unsigned>(first));
  const std::size_t checksum = network_ + 10;
  set_word(frame, checksum, 0);
  set_word(frame, checksum, ~ones_complement_sum(frame.subspan(network_, transport_ - network_)));
}

// The sum that stands there is that of the pseudo-header, of which only the length changes.
void SuperPacket::set_transport(std::span<std::byte> frame, std::size_t first, bool last) const {
  const auto before = static_cast<std::uint32_t>(frame_.size() - transport_);
  const auto now = static_cast<std::uint32_t>(frame.size() - transport_);
  const std::size_t checksum_at = transport_ + virtio_.checksum_offset;
  set_word(frame, checksum_at, folded(word_at(frame, checksum_at) + (0xffff - before) + now));
  if (is_udp()) return set_word(frame, transport_ + kUdpLengthAt, now);
  const std::size_t sequence_at = transport_ + 4, flags_at = transport_ + 13;
  const std::uint32_t sequence = (word_at(frame, sequence_at) << 16 | word_at(frame, sequence_at + 2)) +
                                 static_cast<std::uint32_t>(first * virtio_.gso_size);
  set_word(frame, sequence_at, sequence >> 16);
  set_word(frame, sequence_at + 2, sequence & 0xffff);
  if (first > 0) frame[flags_at] &= static_cast<std::byte>(~kCwr);
  if (!last) frame[flags_at] &= static_cast<std::byte>(~(kFin | kPsh));
}

std::size_t segments_at_once(const ClassConfig& config, const Count& segment) {
  if (config.action == ClassAction::police) return 1;
  const Rate& rate = config.tightest ? config.tightest->rate : config.rate;
  const QueueCapacity& queue = config.tightest ? config.tightest->queue : config.queue;
  const Duration time = queue.time ? std::min(kLongestPiece, *queue.time / kPiecesOfAQueue) : kLongestPiece;
  const auto in_time = [time](std::uint64_t per_second) {
    const auto product =
        static_cast<unsigned __int128>(per_second) * static_cast<std::uint64_t>(time.count());
    return static_cast<std::uint64_t>(product / std::uint64_t{std::nano::den});
  };
  BucketParameters link;
  link.link_layer = config.link_layer;
  const std::uint64_t link_bits = 8 * link.link_bytes({segment.packets, segment.bytes});
  std::uint64_t most = std::numeric_limits<std::uint16_t>::max();  // more than any super-packet has
  if (rate.packets) most = std::min(most, in_time(rate.packets->packets) / rate.packets->seconds);
  if (rate.bits) most = std::min(most, in_time(rate.bits->bits_per_second) / link_bits);
  if (config.narrowest) most = std::min(most, in_time(config.narrowest->bits_per_second) / link_bits);
  if (queue.packets) most = std::min(most, *queue.packets / kPiecesOfAQueue);
  if (queue.bytes) most = std::min(most, queue.bytes->bytes / kPiecesOfAQueue / segment.bytes);
  return std::max<std::uint64_t>(most, 1);
}

}  // namespace headgate
