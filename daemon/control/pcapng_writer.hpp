// Packets as a pcapng trace (draft-ietf-opsawg-pcapng), with what libpcap cannot write: a comment for each.
//
// Appends to a string, in this host's byte order, which the trace tells. Times are nanoseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pipeline/link_header.hpp"

namespace headgate {

class PcapngWriter {
 public:
  // Block types.
  static constexpr std::uint32_t kSectionHeader = 0x0a0d'0d0a;
  static constexpr std::uint32_t kInterface = 1;
  static constexpr std::uint32_t kStatistics = 5;
  static constexpr std::uint32_t kPacket = 6;

  static constexpr std::uint32_t kLongestFrame = 262'144;  // as interfaces declare it

  explicit PcapngWriter(std::string& out) : out_(out) {}

  void section_header(std::string_view application);
  // Of Ethernet frames or of bare IP packets. The first is number 0, and so on.
  void interface(std::string_view name, std::string_view description,
                 LinkHeader link_header = LinkHeader::ethernet);
  void packet(std::uint32_t interface, std::uint64_t time, std::span<const std::byte> frame,
              std::uint32_t wire_length, std::string_view comment);
  // `dropped`: packets of this interface since the start that are missing from the trace.
  void statistics(std::uint32_t interface, std::uint64_t time, std::uint64_t dropped);

 private:
  std::size_t begin(std::uint32_t type);
  void end(std::size_t start);
  template <typename Value>
  void put(Value value);
  void put_time(std::uint64_t time);
  void put_padded(std::string_view bytes);
  void option(std::uint16_t code, std::string_view value);

  std::string& out_;
};

}  // namespace headgate
