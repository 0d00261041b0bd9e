// A daemon without shaping: sends on each captured frame at once, and tells the dead-man switch that it
// reads.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "linux/packet_ring.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/source_waiter.hpp"
#include "linux/traffic_divert.hpp"

namespace headgate::test {

class Forwarder {
 public:
  using Observer = std::function<void(const CapturedFrame&)>;

  static constexpr std::uint32_t kMark = 0x68670000;

  // `observe` is called in the forwarder's thread for each frame.
  explicit Forwarder(TrafficDivert& divert, Observer observe = nullptr, bool virtio_header = false);
  ~Forwarder();

  std::uint64_t captured() const { return captured_; }  // counted before they are sent on
  std::uint64_t refused() const { return refused_; }    // could not be sent on

 private:
  void run();
  void forward(std::span<const CapturedFrame> frames);

  TrafficDivert& divert_;
  Observer observe_;
  PacketRing ring_;
  SourceWaiter waiter_{ring_};
  PacketTransmitter transmitter_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> captured_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::thread thread_;
};

}  // namespace headgate::test
