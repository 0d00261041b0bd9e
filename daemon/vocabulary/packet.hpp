// A packet on its way: as the capture side hands it over, and as the shaper gives it back when it is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "vocabulary/flow_key.hpp"

namespace headgate {

using ClassIndex = std::uint16_t;  // position of the class in its shape's configuration
inline constexpr ClassIndex kUnmatched = 0xffff;

// A captured and classified frame. `frame` is the capture slot's memory: complete, without the outermost VLAN tag that
// the kernel strips, valid until the slot is given back.
struct ArrivingPacket {
  std::span<const std::byte> frame;
  Instant arrival{};                // when the worker read it
  FlowKey key;                      // zero unless the class is shaped
  std::uint32_t flow_hash = 0;      // of key and class (core/classifier.hpp)
  std::uint32_t charged_bytes = 0;  // what a bit rate and a byte capacity count
  std::uint16_t charged_packets =
      1;  // what a packet rate and a packet capacity count (segments of a super-packet)
  ClassIndex class_index = kUnmatched;
  std::uint16_t vlan_tpid = 0;  // 0: no stripped tag; else the tag to put back after the MAC addresses
  std::uint16_t vlan_tci = 0;
  std::uint8_t prefix_bytes = 0;  // in front of frame.data(), to be sent with the frame
  bool late = false;              // read more than the catch-up (kMaxCatchUp) after it may have come
  std::uint32_t cgroups = 0;      // of its socket: a bit for each that is asked for (core/cgroup_places.hpp)

  Cost cost() const { return {charged_packets, charged_bytes}; }
};

}  // namespace headgate
