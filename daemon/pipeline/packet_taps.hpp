// The captures of a shape, as a worker sees them: each event of a packet goes to the taps of its class.
//
// The worker's thread. Nothing here allocates or waits while packets pass. A
// class is known by its name, so a capture goes on through a reload, and ends when its class is gone.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/drop_observer.hpp"
#include "pipeline/packet_tap.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

class PacketTaps : public DropObserver {
 public:
  static constexpr std::size_t kMost = 4;

  // False: there are kMost already, or no such class.
  bool add(std::shared_ptr<PacketTap> tap, const std::vector<ClassConfig>& classes);
  void remove(const PacketTap& tap);
  bool empty() const { return count_ == 0; }

  // New classes are in force from the next packet on.
  void reconfigure(const std::vector<ClassConfig>& classes);

  void set_time(Instant now) { now_ = now; }  // of the events to come but received(), which is at the arrival

  void received(const ArrivingPacket& packet, bool clipped);
  void clipped(const ArrivingPacket& packet);
  void sent(ClassIndex class_index, PacketTap::FrameParts frame);
  void dropped(ClassIndex class_index, PacketTap::FrameParts frame, DropReason reason) override;
  void dropped(const ArrivingPacket& packet, DropReason reason) override;

 private:
  struct Entry {
    std::shared_ptr<PacketTap> tap;
    ClassIndex class_index = kUnmatched;  // kUnmatched: none any more
  };

  void put(ClassIndex class_index, PacketEvent event, DropReason reason, Instant at,
           PacketTap::FrameParts frame, std::uint32_t wire_length);
  void put(const ArrivingPacket& packet, PacketEvent event, DropReason reason, Instant at, bool clipped);

  std::array<Entry, kMost> entries_;
  std::size_t count_ = 0;
  Instant now_{};
};

}  // namespace headgate
