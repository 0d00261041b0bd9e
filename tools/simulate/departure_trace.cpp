#include "departure_trace.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace headgate {
namespace {

constexpr std::size_t kWrittenAtOnce = 256 * 1024;

}  // namespace

DepartureTrace::DepartureTrace(const std::string& path, std::string title, const ShapeConfig& shape)
    : path_(path), title_(std::move(title)), shape_(shape), file_(path, std::ios::binary | std::ios::trunc) {
  if (!file_) throw std::system_error(errno, std::generic_category(), "cannot write the trace " + path_);
  writer_.section_header("headgatectl simulate");
}

void DepartureTrace::sent(ClassIndex class_index, Frame frame, const TalliedPacket& packet, Instant at) {
  put(false, frame, packet, at, class_name(class_index));
}

void DepartureTrace::dropped(ClassIndex class_index, Frame frame, const TalliedPacket& packet,
                             DropReason reason, Instant at) {
  put(true, frame, packet, at, class_name(class_index) + " dropped: " + std::string(name_of(reason)));
}

std::string DepartureTrace::class_name(ClassIndex class_index) const {
  return class_index == kUnmatched ? "(unmatched)" : shape_.classes[class_index].name;
}

std::uint32_t DepartureTrace::interface_for(bool dropped, LinkHeader link_header) {
  auto& number = interfaces_[dropped ? 1 : 0][link_header == LinkHeader::none ? 1 : 0];
  if (!number) {
    writer_.interface(title_ + (dropped ? " dropped" : " sent"),
                      dropped ? "what was dropped" : "what departed", link_header);
    number = interface_count_++;
  }
  return *number;
}

// A frame with an Ethernet header that its packet does not have is longer than what is counted, by that header.
void DepartureTrace::put(bool dropped, Frame frame, const TalliedPacket& packet, Instant at,
                         const std::string& comment) {
  frame_.clear();
  for (const auto& part : frame) frame_.insert(frame_.end(), part.begin(), part.end());
  const LinkHeader link_header = frame_.size() > packet.bytes ? LinkHeader::none : LinkHeader::ethernet;
  const std::size_t added = added_bytes(link_header);
  const std::span<const std::byte> had =
      std::span(frame_).first(std::min<std::size_t>(packet.captured, frame_.size()));
  writer_.packet(interface_for(dropped, link_header),
                 static_cast<std::uint64_t>(at.time_since_epoch().count()),
                 had.subspan(std::min(added, had.size())), packet.bytes, comment);
  if (buffer_.size() >= kWrittenAtOnce) write();
}

void DepartureTrace::write() {
  file_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (!file_) throw std::system_error(errno, std::generic_category(), "cannot write the trace " + path_);
  buffer_.clear();
}

void DepartureTrace::finish() {
  write();
  file_.close();
  if (!file_) throw std::system_error(errno, std::generic_category(), "cannot write the trace " + path_);
}

}  // namespace headgate
