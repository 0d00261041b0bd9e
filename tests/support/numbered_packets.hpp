// Packets for the shaper that carry who they are: flow and serial number stand in the frame, so that a test
// can tell from what comes out of the shaper which packet it was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/classifier.hpp"
#include "core/schedule.hpp"
#include "core/shaper.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

struct PacketIdentity {
  std::uint32_t flow = 0;
  std::uint32_t serial = 0;
  bool operator==(const PacketIdentity&) const = default;
};

inline constexpr std::size_t kIdentityBytes = 12 + 2 + sizeof(PacketIdentity);  // the shortest numbered frame

inline void set_flow_number(FlowKey& key, std::uint32_t flow) {
  std::memcpy(key.destination.data() + 12, &flow, sizeof flow);
}

inline FlowKey numbered_key(std::uint32_t flow) {
  FlowKey key;
  set_flow_number(key, flow);
  return key;
}

inline std::uint32_t flow_number(const FlowKey& key) {
  std::uint32_t flow = 0;
  std::memcpy(&flow, key.destination.data() + 12, sizeof flow);
  return flow;
}

// Owns the frames of the packets it makes, until clear().
class NumberedPackets {
 public:
  // A packet of `bytes` on the wire for class `index` of `classes`.
  ArrivingPacket make(const std::vector<ClassConfig>& classes, ClassIndex index, PacketIdentity identity,
                      std::size_t bytes, Instant arrival) {
    if (bytes < kIdentityBytes) throw std::invalid_argument("too short for a numbered packet");
    std::vector<std::byte>& frame = frames_.emplace_back(bytes);
    for (std::size_t i = 0; i < bytes; ++i) frame[i] = std::byte(i * 7 + identity.serial);
    std::memcpy(frame.data() + 14, &identity, sizeof identity);
    ArrivingPacket packet;
    packet.frame = frame;
    packet.arrival = arrival;
    packet.key = numbered_key(identity.flow);
    packet.flow_hash = hash_key(packet.key, class_hash_seed(classes[index].name, 1));
    packet.charged_bytes = static_cast<std::uint32_t>(bytes);
    packet.class_index = index;
    return packet;
  }

  void clear() { frames_.clear(); }

 private:
  std::vector<std::vector<std::byte>> frames_;
};

// `schedule`: a Schedule, or what gives the parts of a frame as that does.
template <typename Schedule>
std::vector<std::byte> stored_frame(const Schedule& schedule, const DuePacket& packet) {
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  std::vector<std::byte> frame;
  const std::size_t count = schedule.frame_parts(packet, parts);
  for (const auto& part : std::span(parts).first(count)) frame.insert(frame.end(), part.begin(), part.end());
  return frame;
}

inline PacketIdentity identity_of(std::span<const std::byte> frame) {
  PacketIdentity identity;
  std::memcpy(&identity, frame.data() + 14, sizeof identity);
  return identity;
}

template <typename Schedule>
PacketIdentity identity_of(const Schedule& schedule, const DuePacket& packet) {
  return identity_of(stored_frame(schedule, packet));
}

inline ClassConfig shaped_class(std::string name, Rate rate, QueueCapacity queue = {.packets = 100},
                                Burst burst = {}) {
  ClassConfig config;
  config.name = std::move(name);
  config.key.destination_address = true;
  config.rate = rate;
  config.burst = burst;
  config.queue = queue;
  return config;
}

inline Rate packets_per_second(std::uint64_t rate) {
  return {.packets = PacketRate{rate}};
}
inline Rate bits_per_second(std::uint64_t rate) {
  return {.bits = BitRate{rate}};
}

}  // namespace headgate
