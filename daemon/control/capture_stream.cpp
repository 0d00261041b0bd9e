#include "control/capture_stream.hpp"

#include <utility>

#include "control/pcapng_writer.hpp"

namespace headgate {

namespace {

std::string comment_of(const TappedPacket& packet) {
  std::string comment(name_of(packet.event));
  if (packet.event == PacketEvent::dropped) comment.append(": ").append(name_of(packet.reason));
  return comment;
}

}  // namespace

CaptureStream::CaptureStream(std::shared_ptr<PacketTap> tap, const std::string& class_name,
                             Duration to_real_time)
    : tap_(std::move(tap)), to_real_time_(to_real_time) {
  PcapngWriter writer(preamble_);
  writer.section_header("headgate");
  // Libpcap 1.10.3 takes a second interface of this link type for one of another type.
  if (tap_->link_header() == LinkHeader::none) {
    writer.interface(class_name, "packets of class " + class_name, LinkHeader::none);
    return;
  }
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < kPacketEventCount; ++i) {
    const auto event = static_cast<PacketEvent>(i);
    if (!tap_->wants(event)) continue;
    const std::string name(name_of(event));
    writer.interface(class_name + " " + name, "packets that class " + class_name + " " + name);
    interfaces_[i] = next++;
  }
}

CaptureStream::~CaptureStream() {
  tap_->close();
}

std::uint64_t CaptureStream::real_time(Instant instant) const {
  return static_cast<std::uint64_t>((instant.time_since_epoch() + to_real_time_).count());
}

bool CaptureStream::read(std::string& out) {
  const bool ended = tap_->ended();  // before the last look
  const std::size_t limit = out.size() + kReadBytes;
  out += std::exchange(preamble_, {});
  PcapngWriter writer(out);
  std::optional<TappedPacket> packet = tap_->peek();
  for (; packet && out.size() < limit; packet = tap_->peek()) {
    writer.packet(interfaces_[static_cast<std::size_t>(packet->event)], real_time(packet->at), packet->frame,
                  packet->wire_length, comment_of(*packet));
    last_ = packet->at;
    tap_->pop();
  }
  if (const std::uint64_t missed = tap_->missed(); missed != missed_told_) {
    writer.statistics(0, real_time(last_), missed);
    missed_told_ = missed;
  }
  return packet.has_value() || !ended;
}

}  // namespace headgate
