// Ethernet frames of synthetic traffic: headers with right lengths and checksums, in front of a payload of zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "traffic_source.hpp"

namespace headgate {

// Ethernet, IP, and UDP, TCP or ICMP: the least that a frame of the source has.
std::size_t header_bytes_of(const TrafficSource& source);

class SyntheticFrame {
 public:
  explicit SyntheticFrame(const TrafficSource& source);

  // The headers of a packet of the flow whose number this is, in a frame of so many bytes. Valid until the next call.
  std::span<const std::byte> headers(std::uint32_t flow, std::uint32_t length);

 private:
  static constexpr std::size_t kMostHeaderBytes = 14 + 40 + 20;

  void put16(std::size_t at, std::uint32_t value);
  std::uint32_t get16(std::size_t at) const;
  std::uint32_t sum(std::size_t from, std::size_t to) const;
  void number_address(std::size_t at, std::size_t bytes, const TrafficEndpoint& first, std::uint32_t flow);
  void finish_transport(std::uint32_t length);

  const TrafficSource source_;
  const std::size_t network_bytes_;  // of the IP header
  const std::size_t size_;
  std::array<std::uint8_t, kMostHeaderBytes> bytes_{};
};

}  // namespace headgate
