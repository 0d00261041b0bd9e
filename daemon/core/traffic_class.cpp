#include "core/traffic_class.hpp"

#include <cassert>

#include "core/header_parser.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMacBytes = 12;
constexpr std::size_t kTagBytes = 4;

std::uint16_t word_at(std::span<const std::byte> bytes, std::size_t position) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[position]) << 8 |
                                    std::to_integer<unsigned>(bytes[position + 1]));
}

void set_word(std::span<std::byte> bytes, std::size_t position, unsigned word) {
  bytes[position] = std::byte(word >> 8 & 0xff);
  bytes[position + 1] = std::byte(word & 0xff);
}

struct IpHeader {
  std::size_t position;
  NetworkProtocol network;
};

std::optional<IpHeader> find_ip_header(std::span<const std::byte> frame) {
  std::size_t type = kMacBytes;
  for (int tags = 0; tags < kMaxTags && frame.size() >= type + 2; ++tags) {
    if (word_at(frame, type) != 0x8100 && word_at(frame, type) != 0x88a8) break;
    type += kTagBytes;
  }
  const std::size_t header = type + 2;
  if (frame.size() < header + 20) return std::nullopt;
  const unsigned version = std::to_integer<unsigned>(frame[header]) >> 4;
  if (word_at(frame, type) == 0x0800 && version == 4) return IpHeader{header, NetworkProtocol::ipv4};
  if (word_at(frame, type) == 0x86dd && version == 6) return IpHeader{header, NetworkProtocol::ipv6};
  return std::nullopt;
}

// The first word of a header has the traffic class 4 bits further left in IPv6.
constexpr unsigned shift_of(NetworkProtocol network) {
  return network == NetworkProtocol::ipv6 ? 4 : 0;
}

}  // namespace

std::optional<std::uint8_t> traffic_class_of(std::span<const std::byte> frame) {
  const auto header = find_ip_header(frame);
  if (!header) return std::nullopt;
  return static_cast<std::uint8_t>(word_at(frame, header->position) >> shift_of(header->network) & 0xff);
}

void set_traffic_class(std::span<std::byte> frame, std::uint8_t traffic_class) {
  const auto header = find_ip_header(frame);
  assert(header);
  const unsigned shift = shift_of(header->network);
  const unsigned before = word_at(frame, header->position);
  const unsigned after = (before & ~(0xffU << shift)) | unsigned{traffic_class} << shift;
  set_word(frame, header->position, after);
  if (header->network != NetworkProtocol::ipv4) return;
  // RFC 1624, equation 3.
  const std::size_t checksum = header->position + 10;
  unsigned sum = (~static_cast<unsigned>(word_at(frame, checksum)) & 0xffff) + (~before & 0xffff) + after;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  set_word(frame, checksum, ~sum & 0xffff);
}

void set_dscp(std::span<std::byte> frame, std::uint8_t dscp) {
  const unsigned before = traffic_class_of(frame).value_or(0);
  set_traffic_class(frame, static_cast<std::uint8_t>(unsigned{dscp} << 2 | (before & 3)));
}

}  // namespace headgate
