// One capture of the packets of a class: what the workers put in, the main thread reads.
//
// A ring of fixed memory. Its consumer takes no lock; its producers, of which a shape has as many as workers, take turns
// for as long as one packet is copied. A packet that finds no room is not captured but counted (missed()): a slow reader
// never holds up a worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgate/clock.hpp"
#include "pipeline/link_header.hpp"
#include "vocabulary/drop_reason.hpp"
#include "vocabulary/packet_event.hpp"

namespace headgate {

struct TappedPacket {
  PacketEvent event = PacketEvent::received;
  DropReason reason{};  // when dropped
  Instant at{};
  std::uint32_t wire_length = 0;     // longer than the frame when that was clipped
  std::span<const std::byte> frame;  // valid until pop()
};

class PacketTap {
 public:
  static constexpr std::size_t kDefaultMemory = 4 * 1024 * 1024;

  // `memory` in bytes, rounded up to a power of two. `link_header`: what the packets begin with on their link, and here.
  PacketTap(std::string class_name, PacketEventSet events, std::size_t memory = kDefaultMemory,
            LinkHeader link_header = LinkHeader::ethernet);

  const std::string& class_name() const { return class_name_; }
  LinkHeader link_header() const { return link_header_; }
  bool wants(PacketEvent event) const { return events_[static_cast<std::size_t>(event)]; }

  // Workers.
  using FrameParts = std::span<const std::span<const std::byte>>;
  void put(PacketEvent event, DropReason reason, Instant at, std::uint32_t wire_length, FrameParts frame);

  // Main thread: the oldest packet, and the end of it.
  std::optional<TappedPacket> peek();
  void pop();

  // Any thread.
  std::uint64_t missed() const { return missed_.load(std::memory_order_relaxed); }
  void end() { ended_.store(true, std::memory_order_release); }  // no more packets will come
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  void close() { closed_.store(true, std::memory_order_relaxed); }  // nobody will read any more
  bool closed() const { return closed_.load(std::memory_order_relaxed); }

 private:
  struct Record;

  static constexpr std::size_t kCacheLine = 64;

  std::byte* at(std::uint64_t position) { return &memory_[position & (memory_.size() - 1)]; }
  std::byte* find_room(std::size_t bytes);

  const std::string class_name_;
  const PacketEventSet events_;
  const LinkHeader link_header_;
  std::vector<std::byte> memory_;
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<bool> ended_{false};
  std::atomic<bool> closed_{false};
  std::mutex put_mutex_;
  // Positions count bytes since the start.
  alignas(kCacheLine) std::uint64_t known_read_ = 0;  // producer's
  alignas(kCacheLine) std::atomic<std::uint64_t> written_{0};
  alignas(kCacheLine) std::atomic<std::uint64_t> read_{0};
};

}  // namespace headgate
