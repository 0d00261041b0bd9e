// What a worker sends in one round: frames that go on unshaped, straight from their capture slots, and packets that are
// due. Each port's share is one call of its sink, unshaped frames first.
//
// The worker's thread. Nothing allocates after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/schedule.hpp"
#include "core/shaper.hpp"
#include "headgate/clock.hpp"
#include "pipeline/packet_io.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

class Port;

class OutgoingBatch {
 public:
  static constexpr std::size_t kBatch = 64;              // unshaped frames, and due packets
  static constexpr std::size_t kMostSlots = 4 * kBatch;  // capture slots that a worker holds on to

  OutgoingBatch(Schedule& schedule, Clock& clock);

  // A packet whose shape has no port is an error: its shaper is suspended, so nothing of it is due.
  void add_port(Port& port);
  void remove_port(Port& port);

  // At most kBatch between two send(). The frame must stay until then.
  void add_unshaped(Port& port, const ArrivingPacket& packet);
  // Of one port, regardless of rates, for a stop. Returns how many.
  std::size_t take_all(Port& port);
  // Takes what is due by `now`.
  void take_due(Instant now);

  bool empty() const { return unshaped_count_ + due_count_ == 0; }
  // Sends everything and counts it.
  void send();
  // Counts everything as dropped instead.
  void drop(DropReason reason);

 private:
  struct Unshaped {
    Port* port = nullptr;
    ClassIndex class_index = kUnmatched;
    Count cost;
    std::size_t first_part = 0;
    std::size_t parts = 0;
  };
  struct TaggedHeader {
    std::array<std::byte, 48> bytes;
  };
  // One port's share: places in unshaped_ and in due_.
  struct Share {
    Port* port = nullptr;
    std::size_t unshaped_from = 0, unshaped_to = 0;
    std::size_t due_from = 0, due_to = 0;
  };

  void group_due_by_port();
  std::size_t find_shares();
  std::size_t gather(const Share& share);
  void send(const Share& share);
  void drop(const Share& share, DropReason reason);
  void count_unshaped(const Share& share);
  void complete_due(const Share& share);
  template <typename Show>
  void show(const Share& share, Show show);
  std::span<const std::span<const std::byte>> without_prefix(Port& port, std::size_t frame);

  Schedule& schedule_;
  Clock& clock_;
  std::vector<Port*> ports_;  // by the number of their shapers

  std::size_t unshaped_count_ = 0;
  std::size_t due_count_ = 0;
  std::size_t part_count_ = 0;
  std::array<Unshaped, kBatch> unshaped_;
  std::array<DuePacket, kBatch> due_;
  std::array<DuePacket, kBatch> ungrouped_;
  std::array<Share, 2 * kBatch> shares_;
  std::array<TaggedHeader, kBatch>
      tagged_headers_;  // prefix, MAC addresses and the tag put back, of unshaped frames
  std::vector<std::span<const std::byte>> parts_;  // of all frames
  std::array<OutgoingFrame, 2 * kBatch> frames_;   // of one share
  std::array<bool, 2 * kBatch> sent_;
};

}  // namespace headgate
