#include "synthetic_frame.hpp"

#include <netinet/in.h>

#include <algorithm>

namespace headgate {
namespace {

constexpr std::size_t kNetwork = 14;  // where the IP header begins

std::size_t network_bytes_of(const TrafficSource& source) {
  return source.ipv6 ? 40 : 20;
}

std::uint16_t folded(std::uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace

std::size_t header_bytes_of(const TrafficSource& source) {
  return kNetwork + network_bytes_of(source) + (source.protocol == IPPROTO_TCP ? 20 : 8);
}

SyntheticFrame::SyntheticFrame(const TrafficSource& source)
    : source_(source), network_bytes_(network_bytes_of(source)), size_(header_bytes_of(source)) {
  bytes_[0] = bytes_[6] = 2;  // locally administered
  bytes_[5] = 2;
  bytes_[11] = 1;
  put16(12, source.ipv6 ? 0x86dd : 0x0800);
  if (source.ipv6) {
    put16(kNetwork, 0x6000U | static_cast<std::uint32_t>(source.traffic_class) << 4);
    bytes_[kNetwork + 6] = source.protocol;
    bytes_[kNetwork + 7] = 64;
  } else {
    bytes_[kNetwork] = 0x45;
    bytes_[kNetwork + 1] = source.traffic_class;
    put16(kNetwork + 6, 0x4000);  // not to be cut into fragments
    bytes_[kNetwork + 8] = 64;
    bytes_[kNetwork + 9] = source.protocol;
  }
  const std::size_t transport = kNetwork + network_bytes_;
  if (source.protocol == IPPROTO_TCP) {
    bytes_[transport + 12] = 5 << 4;  // length of its header, in words
    bytes_[transport + 13] = 0x10;    // ACK
    put16(transport + 14, 0xffff);
  } else if (source.protocol != IPPROTO_UDP) {
    bytes_[transport] = source.ipv6 ? 128 : 8;  // echo request
  }
}

void SyntheticFrame::put16(std::size_t at, std::uint32_t value) {
  bytes_[at] = static_cast<std::uint8_t>(value >> 8);
  bytes_[at + 1] = static_cast<std::uint8_t>(value);
}

std::uint32_t SyntheticFrame::get16(std::size_t at) const {
  return static_cast<std::uint32_t>(bytes_[at] << 8 | bytes_[at + 1]);
}

std::uint32_t SyntheticFrame::sum(std::size_t from, std::size_t to) const {
  std::uint32_t sum = 0;
  for (std::size_t at = from; at < to; at += 2) sum += get16(at);
  return sum;
}

// The address that lies so many behind the first.
void SyntheticFrame::number_address(std::size_t at, std::size_t bytes, const TrafficEndpoint& first,
                                    std::uint32_t flow) {
  std::uint32_t carry = flow;
  for (std::size_t i = bytes; i-- > 0;) {
    const std::uint64_t digit = std::uint64_t{first.address[16 - bytes + i]} + (carry & 0xff);
    bytes_[at + i] = static_cast<std::uint8_t>(digit);
    carry = (carry >> 8) + static_cast<std::uint32_t>(digit >> 8);
  }
}

std::span<const std::byte> SyntheticFrame::headers(std::uint32_t flow, std::uint32_t length) {
  const std::size_t address = source_.ipv6 ? 16 : 4;
  const std::size_t addresses = kNetwork + network_bytes_ - 2 * address;
  number_address(addresses, address, source_.source, source_.flows_by == FlowsBy::source_address ? flow : 0);
  number_address(addresses + address, address, source_.destination,
                 source_.flows_by == FlowsBy::destination_address ? flow : 0);
  const auto packet = static_cast<std::uint32_t>(length - kNetwork);
  if (source_.ipv6) {
    put16(kNetwork + 4, packet - static_cast<std::uint32_t>(network_bytes_));
  } else {
    put16(kNetwork + 2, packet);
    put16(kNetwork + 10, 0);
    put16(kNetwork + 10, static_cast<std::uint16_t>(~folded(sum(kNetwork, kNetwork + network_bytes_))));
  }
  const std::size_t transport = kNetwork + network_bytes_;
  const std::uint32_t more = source_.flows_by == FlowsBy::source_port ? flow : 0;
  if (source_.protocol == IPPROTO_UDP || source_.protocol == IPPROTO_TCP) {
    put16(transport, source_.source.port + more);
    put16(transport + 2, source_.destination.port);
  } else {
    put16(transport + 4, more);  // the echo's identifier
  }
  finish_transport(packet - static_cast<std::uint32_t>(network_bytes_));
  return std::as_bytes(std::span(bytes_).first(size_));
}

// Of so many bytes: its length and its checksum. The payload is zeros, and counts nothing.
void SyntheticFrame::finish_transport(std::uint32_t length) {
  const std::size_t transport = kNetwork + network_bytes_;
  if (source_.protocol == IPPROTO_UDP) put16(transport + 4, length);
  const std::size_t place = transport + (source_.protocol == IPPROTO_UDP   ? 6
                                         : source_.protocol == IPPROTO_TCP ? 16
                                                                           : 2);
  put16(place, 0);
  std::uint32_t all = sum(transport, size_);
  if (source_.protocol != IPPROTO_ICMP) {  // the pseudo header
    const std::size_t addresses = source_.ipv6 ? 32 : 8;
    all += sum(transport - addresses, transport) + length + source_.protocol;
  }
  const auto checksum = static_cast<std::uint16_t>(~folded(all));
  put16(place, checksum == 0 && source_.protocol == IPPROTO_UDP ? 0xffff : checksum);
}

}  // namespace headgate
