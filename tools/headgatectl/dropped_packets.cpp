#include "dropped_packets.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>

#include "control/pcapng_writer.hpp"
#include "frame_headers.hpp"
#include "trace_blocks.hpp"
#include "vocabulary/packet_event.hpp"

namespace headgate {
namespace {

constexpr std::size_t kLengthAt = 4;  // of each block
// Of an interface block; its name, the first option, stands behind its length.
constexpr std::size_t kLinkTypeAt = 8;
constexpr std::size_t kNameAt = 20;
constexpr std::uint16_t kRawIp = 101;  // LINKTYPE_RAW
// Of a packet block; its comment, the first option, stands behind the frame.
constexpr std::size_t kInterfaceAt = 8;
constexpr std::size_t kTimeAt = 12;
constexpr std::size_t kCapturedAt = 20;
constexpr std::size_t kWireLengthAt = 24;
constexpr std::size_t kFrameAt = 28;
constexpr std::size_t kOptionHeaderBytes = 4;

std::string_view part_of(std::string_view block, std::size_t position, std::size_t length) {
  return block.substr(std::min(position, block.size()), length);
}

// "dropped: queue_full"
std::string reason_of(std::string_view block, std::size_t captured) {
  const std::size_t option = kFrameAt + (captured + 3) / 4 * 4;
  const auto length = value_at<std::uint16_t>(block, option + 2);
  const std::string_view comment = part_of(block, option + kOptionHeaderBytes, length);
  const std::size_t colon = comment.find(": ");
  return std::string(colon == std::string_view::npos ? comment : comment.substr(colon + 2));
}

// As the divert program does it for links without a header, for a parser that knows but one kind of frame.
std::string with_ethernet_header(std::string_view packet) {
  const bool ipv6 = !packet.empty() && static_cast<unsigned char>(packet.front()) >> 4 == 6;
  std::string frame(kEthernetHeaderBytes, '\0');
  frame[12] = static_cast<char>(ipv6 ? 0x86 : 0x08);
  frame[13] = static_cast<char>(ipv6 ? 0xdd : 0x00);
  return frame.append(packet);
}

}  // namespace

void DroppedPackets::read_interface(std::string_view block) {
  std::string name(part_of(block, kNameAt, value_at<std::uint16_t>(block, kNameAt - 2)));
  const std::string event = " " + std::string(name_of(PacketEvent::dropped));
  if (name.ends_with(event)) name.resize(name.size() - event.size());
  const bool raw = value_at<std::uint16_t>(block, kLinkTypeAt) == kRawIp;
  interfaces_.push_back({raw ? LinkHeader::none : LinkHeader::ethernet, std::move(name)});
}

DroppedPacket DroppedPackets::packet_of(std::string_view block) const {
  const auto number = value_at<std::uint32_t>(block, kInterfaceAt);
  if (number >= interfaces_.size()) throw std::runtime_error("what headgated sends is no trace");
  const Interface& interface = interfaces_[number];
  const auto captured = value_at<std::uint32_t>(block, kCapturedAt);
  const std::string_view packet = part_of(block, kFrameAt, captured);
  const bool raw = interface.link_header == LinkHeader::none;
  const std::string frame = raw ? with_ethernet_header(packet) : std::string(packet);
  return {.time = std::uint64_t{value_at<std::uint32_t>(block, kTimeAt)} << 32 |
                  value_at<std::uint32_t>(block, kTimeAt + 4),
          .class_name = interface.class_name,
          .reason = reason_of(block, captured),
          .headers = headers_of(std::as_bytes(std::span(frame))),
          .length = value_at<std::uint32_t>(block, kWireLengthAt)};
}

void DroppedPackets::read(std::string_view blocks, const Take& take) {
  while (!blocks.empty()) {
    const std::string_view block = blocks.substr(0, value_at<std::uint32_t>(blocks, kLengthAt));
    if (block.empty()) throw std::runtime_error("what headgated sends is no trace");
    const auto type = value_at<std::uint32_t>(block, 0);
    if (type == PcapngWriter::kInterface) read_interface(block);
    if (type == PcapngWriter::kPacket) take(packet_of(block));
    blocks.remove_prefix(block.size());
  }
}

}  // namespace headgate
