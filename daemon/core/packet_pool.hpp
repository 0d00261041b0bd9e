// The memory of all waiting packets of a schedule: a table of 256-byte chunks that grows as it is used.
//
// A frame takes one chunk or a chain of them. The first chunk begins with the packet's header, so that a small frame
// with its header is two cache lines. When too few chunks are free and there is no memory for more, store() refuses and
// the caller makes room.
//
// A large frame may instead be lent: it stays where it is, and only chunks for it are set aside, until it is freed or
// keep_lent() copies it. What leaves at once is then never copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "core/memory_area.hpp"
#include "core/record_table.hpp"
#include "core/stripped_tag.hpp"
#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "headgate/units.hpp"
#include "limiters/prefetch.hpp"

namespace headgate {

using PacketHandle = std::uint32_t;  // the first chunk
inline constexpr PacketHandle kNoPacket = 0xffff'ffff;

// What the shaper keeps with a stored frame.
struct StoredPacket {
  std::uint32_t next_chunk = 0;       // of the pool; the field every chunk begins with
  std::uint32_t length : 30 = 0;      // of the frame as stored; of the pool
  std::uint32_t lent : 1 = 0;         // of the pool
  std::uint32_t remarked : 1 = 0;     // by its class, which polices
  PacketHandle next = kNoPacket;      // in its queue
  PacketHandle previous = kNoPacket;  // in its queue
  Instant arrival{};
  // It leaves no earlier than this: at first its arrival; when its turn is next, the instant at which its bucket lets
  // it go. Once it is paid for, its bucket means it to leave at this very instant.
  Instant earliest{};
  std::uint32_t flow = 0;
  std::uint32_t charged_bytes = 0;
  std::uint16_t charged_packets = 0;
  std::uint16_t class_number = 0;
  std::uint32_t cgroups = 0;  // ArrivingPacket

  Cost cost() const { return {charged_packets, charged_bytes}; }
};

class PacketPool {
 public:
  static constexpr std::size_t kChunkBytes = 256;
  static constexpr std::size_t kMacBytes = 12;
  static constexpr std::size_t kTagBytes = 4;
  static constexpr std::uint32_t kMostChunks = (std::uint32_t{1} << 31) - 1;  // a handle leaves a bit free

  // Throws std::bad_alloc.
  PacketPool(DataSize size, MemorySource& memory);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  // Copies the frame, with its tag put back. kNoPacket when it needs more chunks than are free. The rest of the header is
  // the caller's to fill.
  // `prefix` bytes that stand in front of the frame in memory are stored with it.
  PacketHandle store(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix = 0) {
    const std::size_t length = prefix + frame.size();
    if (tag.tpid != 0 || length > kFirstBytes || chunks_.ready() <= set_aside_)
      return store_pieces(frame, tag, prefix);
    const PacketHandle packet = take(length);  // most packets by far: one chunk, copied as it is
    if (length > 0) std::memcpy(payload(packet, true).data(), frame.data() - prefix, length);
    return packet;
  }
  void free(PacketHandle packet) {
    if (header(packet)->lent || link(packet) != kEnd) return free_all(packet);
    chunks_.give_back(packet);  // most packets by far: one chunk
  }

  // As store(), but the frame (and its prefix) must stay valid until it is freed or kept.
  PacketHandle store_lent(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix = 0);
  void keep_lent();  // copies every frame that is lent
  bool lends() const { return !lent_.empty(); }
  static constexpr std::size_t kLentFrom = 256;  // bytes; what is smaller is copied all the same
  static constexpr std::size_t kMostLent = 512;  // at once; further ones are copied

  // As store(), but of the frame with its prefix only the first bytes are kept, for who asks for no more than its headers: it has
  // one part, and what follows them there may be anything.
  PacketHandle store_first_part(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix = 0);
  static constexpr std::size_t kFirstPartBytes = 144;  // with the packet's header three cache lines

  StoredPacket& operator[](PacketHandle packet) { return *header(packet); }
  const StoredPacket& operator[](PacketHandle packet) const { return *header(packet); }

  // The stored frame, piece by piece; `parts` must have room for all, chunks_for(its length). Returns their number.
  std::size_t parts(PacketHandle packet, std::span<std::span<const std::byte>> parts) const;

  // The first bytes of a stored frame, to be changed: its headers. Empty when it is lent.
  std::span<std::byte> first_bytes(PacketHandle packet) {
    if (header(packet)->lent) return {};
    return payload(packet, true).first(std::min<std::size_t>(kFirstBytes, header(packet)->length));
  }

  // How long a frame is when it is stored. A frame without MAC addresses gets no tag.
  static std::size_t stored_bytes(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix) {
    return prefix + frame.size() + (tag.tpid != 0 && frame.size() >= kMacBytes ? kTagBytes : 0);
  }
  static std::uint32_t chunks_for(std::size_t frame_bytes) {
    if (frame_bytes <= kFirstBytes) return 1;
    return 1 + static_cast<std::uint32_t>((frame_bytes - kFirstBytes + kLaterBytes - 1) / kLaterBytes);
  }
  // At least one, and at most as many as handles can tell apart.
  static std::uint32_t chunks_in(DataSize memory) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(memory.bytes / kChunkBytes, 1, kMostChunks));
  }
  std::uint32_t chunks() const { return chunks_.capacity(); }
  std::uint32_t free_chunks() const { return chunks_.capacity() - chunks_.in_use() - set_aside_; }

  // A frame of so many chunks can be stored. False: it cannot, and there is no more memory.
  bool make_ready(std::uint32_t chunks) { return chunks_.make_ready(chunks + set_aside_); }
  void grow_ahead() { chunks_.grow_ahead(kLeastAhead + set_aside_); }

  void prefetch(PacketHandle packet) const {
    const auto* chunk = reinterpret_cast<const char*>(&chunks_[packet]);
    prefetch_line(chunk);
    prefetch_line(chunk + 64);
  }
  // The memory in which the next `packets` small frames will be stored.
  void prefetch_free(std::uint32_t packets) const;

 private:
  static constexpr std::size_t kLinkBytes = sizeof(std::uint32_t);
  static constexpr std::size_t kFirstBytes =
      kChunkBytes - sizeof(StoredPacket);                               // of the frame in the first chunk
  static constexpr std::size_t kLaterBytes = kChunkBytes - kLinkBytes;  // and in each later one
  static constexpr std::uint32_t kEnd = 0xffff'ffff;
  static constexpr std::uint32_t kLengthMask = 0x3fff'ffff;                    // of StoredPacket::length
  static constexpr std::uint32_t kLeastAhead = 2 * 1024 * 1024 / kChunkBytes;  // chunks that are kept ready

  struct alignas(64) Chunk {
    std::array<std::byte, kChunkBytes> bytes;
  };

  // What stands in the only chunk of a lent frame, behind its header; its first bytes follow, the tag among them.
  struct Loan {
    std::span<const std::byte> rest;
    std::uint32_t head_bytes;
    std::uint32_t place;  // in lent_
  };

  // A chunk with the header of a frame; of a frame in several chunks the first.
  PacketHandle take(std::size_t length) {
    const PacketHandle packet = chunks_.take();
    auto* stored = new (&chunks_[packet]) StoredPacket;
    stored->next_chunk = kEnd;
    stored->length = static_cast<std::uint32_t>(length) & kLengthMask;
    return packet;
  }
  PacketHandle store_pieces(std::span<const std::byte> frame, StrippedTag tag, std::size_t prefix);
  void fill(PacketHandle first, std::span<const std::span<const std::byte>> pieces);
  Loan& loan(PacketHandle packet);
  const Loan& loan(PacketHandle packet) const;
  std::span<const std::byte> lent_head(PacketHandle packet) const;
  void end_loan(PacketHandle packet);
  void free_all(PacketHandle packet);
  StoredPacket* header(PacketHandle packet) {
    return std::launder(reinterpret_cast<StoredPacket*>(&chunks_[packet]));
  }
  const StoredPacket* header(PacketHandle packet) const {
    return std::launder(reinterpret_cast<const StoredPacket*>(&chunks_[packet]));
  }
  std::uint32_t& link(std::uint32_t chunk) {
    return *std::launder(reinterpret_cast<std::uint32_t*>(&chunks_[chunk]));
  }
  std::uint32_t link(std::uint32_t chunk) const {
    return *std::launder(reinterpret_cast<const std::uint32_t*>(&chunks_[chunk]));
  }
  std::span<const std::byte> payload(std::uint32_t chunk, bool first) const {
    return std::span(chunks_[chunk].bytes).subspan(first ? sizeof(StoredPacket) : kLinkBytes);
  }
  std::span<std::byte> payload(std::uint32_t chunk, bool first) {
    return std::span(chunks_[chunk].bytes).subspan(first ? sizeof(StoredPacket) : kLinkBytes);
  }

  RecordTable<Chunk> chunks_;
  std::uint32_t set_aside_ = 0;  // of the free chunks, for frames that are lent
  std::vector<PacketHandle> lent_;
};

}  // namespace headgate
