// What waits in a flow: nothing, one packet, or several.
//
// Most queues never hold more than a packet. That one stands in the flow's record itself, so that nothing else is
// touched for it; from the second on the queue has a backlog (backlog_table.hpp), until it is empty again.
#pragma once

#include <cassert>
#include <cstdint>

#include "core/packet_pool.hpp"

namespace headgate {

using BacklogNumber = std::uint32_t;
inline constexpr BacklogNumber kNoBacklog = 0xffff'ffff;

class FlowQueue {
 public:
  FlowQueue() = default;
  static FlowQueue of_packet(PacketHandle packet) { return FlowQueue(packet); }
  static FlowQueue of_backlog(BacklogNumber backlog) { return FlowQueue(backlog | kIsBacklog); }

  bool empty() const { return value_ == kEmpty; }
  bool is_packet() const { return (value_ & kIsBacklog) == 0; }
  bool is_backlog() const { return !is_packet() && !empty(); }
  PacketHandle packet() const {
    assert(is_packet());
    return value_;
  }
  BacklogNumber backlog() const {
    assert(is_backlog());
    return value_ & ~kIsBacklog;
  }

 private:
  static constexpr std::uint32_t kIsBacklog = std::uint32_t{1} << 31;
  static constexpr std::uint32_t kEmpty = 0xffff'ffff;

  explicit FlowQueue(std::uint32_t value) : value_(value) {}

  std::uint32_t value_ = kEmpty;
};

}  // namespace headgate
