#include "core/packet_pool.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

namespace headgate {

static_assert(sizeof(StoredPacket) == 48 && std::is_trivially_destructible_v<StoredPacket>);

PacketPool::PacketPool(DataSize size, MemorySource& memory) : chunks_(chunks_in(size), memory) {
  lent_.reserve(kMostLent);
}

PacketHandle PacketPool::store_pieces(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix) {
  const std::size_t length = stored_bytes(frame, tag, prefix);
  const bool tagged = length > prefix + frame.size();
  if (!make_ready(chunks_for(length))) return kNoPacket;
  const PacketHandle first = take(length);
  const auto put_back = tag_bytes(tag);
  const std::array<std::span<const std::byte>, 4> pieces = {
      std::span(frame.data() - prefix, prefix), frame.first(tagged ? kMacBytes : 0),
      std::span(put_back).first(tagged ? kTagBytes : 0), frame.subspan(tagged ? kMacBytes : 0)};
  fill(first, pieces);
  return first;
}

void PacketPool::fill(PacketHandle first, std::span<const std::span<const std::byte>> pieces) {
  std::uint32_t last = first;
  std::span<std::byte> room = payload(first, true);
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      if (room.empty()) {
        const std::uint32_t next = chunks_.take();
        link(last) = next;
        last = next;
        room = payload(next, false);
      }
      const std::size_t count = std::min(piece.size(), room.size());
      std::memcpy(room.data(), piece.data(), count);
      piece = piece.subspan(count);
      room = room.subspan(count);
    }
  }
  link(last) = kEnd;
}

PacketHandle PacketPool::store_lent(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix) {
  if (frame.size() < kLentFrom || lent_.size() == kMostLent) return store(frame, tag, prefix);
  const std::size_t length = stored_bytes(frame, tag, prefix);
  const bool tagged = length > prefix + frame.size();
  if (!make_ready(chunks_for(length))) return kNoPacket;
  const PacketHandle packet = take(length);
  header(packet)->lent = 1;
  set_aside_ += chunks_for(length) - 1;

  const std::size_t copied = prefix + kMacBytes;
  const std::size_t head_bytes = copied + (tagged ? kTagBytes : 0);
  new (payload(packet, true).data()) Loan{.rest = frame.subspan(kMacBytes),
                                          .head_bytes = static_cast<std::uint32_t>(head_bytes),
                                          .place = static_cast<std::uint32_t>(lent_.size())};
  const std::span<std::byte> head = payload(packet, true).subspan(sizeof(Loan), head_bytes);
  std::memcpy(head.data(), frame.data() - prefix, copied);
  if (tagged) std::memcpy(head.data() + copied, tag_bytes(tag).data(), kTagBytes);
  lent_.push_back(packet);
  return packet;
}

void PacketPool::keep_lent() {
  while (!lent_.empty()) {
    const PacketHandle packet = lent_.back();
    std::array<std::byte, kChunkBytes> head;  // where it stands the frame will
    const std::span<const std::byte> lent = lent_head(packet);
    const std::span<const std::byte> rest = loan(packet).rest;
    std::memcpy(head.data(), lent.data(), lent.size());
    const std::array<std::span<const std::byte>, 2> pieces = {std::span(head).first(lent.size()), rest};
    end_loan(packet);
    fill(packet, pieces);
  }
}

PacketHandle PacketPool::store_first_part(std::span<const std::byte> frame, StrippedTag tag,
                                          std::size_t prefix) {
  const std::size_t length = stored_bytes(frame, tag, prefix);
  if (length <= kFirstPartBytes) return store(frame, tag, prefix);
  const std::size_t added = length - frame.size();
  assert(added + kMacBytes <= kFirstPartBytes);
  const PacketHandle packet = store(frame.first(kFirstPartBytes - added), tag, prefix);
  if (packet != kNoPacket) header(packet)->length = static_cast<std::uint32_t>(length) & kLengthMask;
  return packet;
}

// The chunks that were set aside are free again.
void PacketPool::end_loan(PacketHandle packet) {
  const std::uint32_t place = loan(packet).place;
  loan(lent_.back()).place = place;
  lent_[place] = lent_.back();
  lent_.pop_back();
  header(packet)->lent = 0;
  set_aside_ -= chunks_for(header(packet)->length) - 1;
}

PacketPool::Loan& PacketPool::loan(PacketHandle packet) {
  return *std::launder(reinterpret_cast<Loan*>(payload(packet, true).data()));
}

const PacketPool::Loan& PacketPool::loan(PacketHandle packet) const {
  return *std::launder(reinterpret_cast<const Loan*>(payload(packet, true).data()));
}

std::span<const std::byte> PacketPool::lent_head(PacketHandle packet) const {
  return payload(packet, true).subspan(sizeof(Loan), loan(packet).head_bytes);
}

// A frame that is lent, or stands in several chunks.
void PacketPool::free_all(PacketHandle packet) {
  if (header(packet)->lent) end_loan(packet);
  for (std::uint32_t chunk = packet; chunk != kEnd;) {
    const std::uint32_t next = link(chunk);
    chunks_.give_back(chunk);
    chunk = next;
  }
}

std::size_t PacketPool::parts(PacketHandle packet, std::span<std::span<const std::byte>> parts) const {
  if (header(packet)->lent) {
    parts[0] = lent_head(packet);
    parts[1] = loan(packet).rest;
    return 2;
  }
  std::size_t count = 0;
  std::size_t left = header(packet)->length;
  for (std::uint32_t chunk = packet; chunk != kEnd; chunk = link(chunk)) {
    const std::span<const std::byte> room = payload(chunk, chunk == packet);
    parts[count] = room.first(std::min(left, room.size()));
    left -= parts[count].size();
    ++count;
  }
  return count;
}

void PacketPool::prefetch_free(std::uint32_t packets) const {
  for (std::uint32_t i = 0; i < std::min(packets, chunks_.ready()); ++i) {
    const auto* chunk = reinterpret_cast<const char*>(&chunks_[chunks_.next(i)]);
    prefetch_line(chunk);
    prefetch_line(chunk + 64);
  }
}

}  // namespace headgate
