#include "pipeline/packet_tap.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace headgate {

namespace {
constexpr std::size_t kLeastMemory = 1024;
constexpr std::uint32_t kFiller = 0xffff'ffff;  // in the place of a frame's length
}  // namespace

// Before each frame. Records do not wrap round: what is left at the end of the memory is filled by one without a
// frame, of which only the first two members count.
struct PacketTap::Record {
  std::uint32_t bytes = 0;  // of the record, a multiple of its alignment
  std::uint32_t frame_bytes = 0;
  std::uint32_t wire_length = 0;
  PacketEvent event = PacketEvent::received;
  DropReason reason{};
  std::int64_t at = 0;  // nanoseconds of Instant
};

PacketTap::PacketTap(std::string class_name, PacketEventSet events, std::size_t memory,
                     LinkHeader link_header)
    : class_name_(std::move(class_name)),
      events_(events),
      link_header_(link_header),
      memory_(std::bit_ceil(std::max(memory, kLeastMemory))) {}

// Where a record of `bytes` may be written, or null. A filler may have been written before it.
std::byte* PacketTap::find_room(std::size_t bytes) {
  std::uint64_t position = written_.load(std::memory_order_relaxed);
  const std::size_t until_end = memory_.size() - (position & (memory_.size() - 1));
  const std::size_t needed = bytes <= until_end ? bytes : until_end + bytes;
  const auto is_free = [&] { return memory_.size() - (position - known_read_) >= needed; };
  if (!is_free()) known_read_ = read_.load(std::memory_order_acquire);
  if (!is_free()) return nullptr;
  if (bytes <= until_end) return at(position);
  // A whole Record may not fit here; its first two members do.
  const std::array<std::uint32_t, 2> filler = {static_cast<std::uint32_t>(until_end), kFiller};
  std::memcpy(at(position), filler.data(), sizeof filler);
  written_.store(position + until_end, std::memory_order_release);
  return at(position + until_end);
}

void PacketTap::put(PacketEvent event, DropReason reason, Instant at, std::uint32_t wire_length,
                    FrameParts frame) {
  std::size_t frame_bytes = 0;
  for (const auto& part : frame) frame_bytes += part.size();
  const std::size_t left_out = std::min(added_bytes(link_header_), frame_bytes);
  frame_bytes -= left_out;
  const std::size_t bytes =
      (sizeof(Record) + frame_bytes + alignof(Record) - 1) / alignof(Record) * alignof(Record);
  const std::lock_guard turn(put_mutex_);
  std::byte* target = find_room(bytes);
  if (target == nullptr) {
    missed_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  new (target) Record{.bytes = static_cast<std::uint32_t>(bytes),
                      .frame_bytes = static_cast<std::uint32_t>(frame_bytes),
                      .wire_length = wire_length - static_cast<std::uint32_t>(left_out),
                      .event = event,
                      .reason = reason,
                      .at = at.time_since_epoch().count()};
  target += sizeof(Record);
  std::size_t to_skip = left_out;
  for (const auto& part : frame) {
    const std::size_t skipped = std::min(to_skip, part.size());
    to_skip -= skipped;
    target = std::copy(part.begin() + static_cast<std::ptrdiff_t>(skipped), part.end(), target);
  }
  written_.store(written_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

std::optional<TappedPacket> PacketTap::peek() {
  const std::uint64_t written = written_.load(std::memory_order_acquire);
  std::uint64_t position = read_.load(std::memory_order_relaxed);
  if (position == written) return std::nullopt;
  std::array<std::uint32_t, 2> first_members{};
  std::memcpy(first_members.data(), at(position), sizeof first_members);
  if (first_members[1] == kFiller) {
    position += first_members[0];
    read_.store(position, std::memory_order_release);
    if (position == written) return std::nullopt;
  }
  const auto& record = *std::launder(reinterpret_cast<const Record*>(at(position)));
  return TappedPacket{.event = record.event,
                      .reason = record.reason,
                      .at = Instant(Duration(record.at)),
                      .wire_length = record.wire_length,
                      .frame = {at(position) + sizeof(Record), record.frame_bytes}};
}

void PacketTap::pop() {
  const std::uint64_t position = read_.load(std::memory_order_relaxed);
  const auto& record = *std::launder(reinterpret_cast<const Record*>(at(position)));
  read_.store(position + record.bytes, std::memory_order_release);
}

}  // namespace headgate
