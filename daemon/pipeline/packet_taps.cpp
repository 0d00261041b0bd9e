#include "pipeline/packet_taps.hpp"

#include <algorithm>
#include <utility>

#include "core/stripped_tag.hpp"

namespace headgate {

namespace {

ClassIndex find_class(const std::string& name, const std::vector<ClassConfig>& classes) {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&name](const ClassConfig& one) { return one.name == name; });
  return found == classes.end() ? kUnmatched : static_cast<ClassIndex>(found - classes.begin());
}

std::uint32_t length_of(PacketTap::FrameParts frame) {
  std::size_t length = 0;
  for (const auto& part : frame) length += part.size();
  return static_cast<std::uint32_t>(length);
}

}  // namespace

bool PacketTaps::add(std::shared_ptr<PacketTap> tap, const std::vector<ClassConfig>& classes) {
  const ClassIndex class_index = find_class(tap->class_name(), classes);
  if (count_ == kMost || class_index == kUnmatched) return false;
  entries_[count_++] = {std::move(tap), class_index};
  return true;
}

void PacketTaps::remove(const PacketTap& tap) {
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto kept =
      std::remove_if(entries_.begin(), end, [&tap](const Entry& entry) { return entry.tap.get() == &tap; });
  std::fill(kept, end, Entry{});
  count_ = static_cast<std::size_t>(kept - entries_.begin());
}

void PacketTaps::reconfigure(const std::vector<ClassConfig>& classes) {
  for (std::size_t i = 0; i < count_; ++i) {
    entries_[i].class_index = find_class(entries_[i].tap->class_name(), classes);
    if (entries_[i].class_index == kUnmatched) entries_[i].tap->end();
  }
}

void PacketTaps::put(ClassIndex class_index, PacketEvent event, DropReason reason, Instant at,
                     PacketTap::FrameParts frame, std::uint32_t wire_length) {
  if (class_index == kUnmatched) return;
  for (std::size_t i = 0; i < count_; ++i) {
    PacketTap& tap = *entries_[i].tap;
    if (entries_[i].class_index == class_index && tap.wants(event) && !tap.closed())
      tap.put(event, reason, at, wire_length, frame);
  }
}

// A stripped tag is put back between the MAC addresses and the rest.
void PacketTaps::put(const ArrivingPacket& packet, PacketEvent event, DropReason reason, Instant at,
                     bool clipped) {
  constexpr std::size_t kMacAddresses = 12;
  const auto tag = tag_bytes({packet.vlan_tpid, packet.vlan_tci});
  const bool tagged = packet.vlan_tpid != 0 && packet.frame.size() >= kMacAddresses;
  const std::size_t before_tag = tagged ? kMacAddresses : packet.frame.size();
  const std::array<std::span<const std::byte>, 3> parts = {packet.frame.first(before_tag), tag,
                                                           packet.frame.subspan(before_tag)};
  const PacketTap::FrameParts frame = std::span(parts).first(tagged ? 3 : 1);
  const std::uint32_t length = length_of(frame);
  put(packet.class_index, event, reason, at, frame,
      clipped ? std::max(length, packet.charged_bytes) : length);
}

void PacketTaps::received(const ArrivingPacket& packet, bool clipped) {
  put(packet, PacketEvent::received, {}, packet.arrival, clipped);
}

void PacketTaps::clipped(const ArrivingPacket& packet) {
  put(packet, PacketEvent::dropped, DropReason::clipped, now_, true);
}

void PacketTaps::sent(ClassIndex class_index, PacketTap::FrameParts frame) {
  put(class_index, PacketEvent::sent, {}, now_, frame, length_of(frame));
}

void PacketTaps::dropped(ClassIndex class_index, PacketTap::FrameParts frame, DropReason reason) {
  put(class_index, PacketEvent::dropped, reason, now_, frame, length_of(frame));
}

void PacketTaps::dropped(const ArrivingPacket& packet, DropReason reason) {
  put(packet, PacketEvent::dropped, reason, now_, false);
}

}  // namespace headgate
