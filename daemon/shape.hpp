// One shaped interface and direction: its divert, its capture ring, its transmitter, its two threads.
//
// Main thread. Construction makes everything but takes no packet; start() diverts; stop() opens the host
// first, then sends what is queued. Destruction stops.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/config.hpp"
#include "headgate/statistics.hpp"
#include "linux/netlink.hpp"
#include "linux/packet_ring.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/timer_waiter.hpp"
#include "linux/traffic_divert.hpp"
#include "pipeline/capture_loop.hpp"
#include "pipeline/drain_loop.hpp"

namespace headgate {

class Shape {
 public:
  // Throws std::runtime_error with a sentence for the administrator. `log` gets what is worth a line; any
  // thread.
  using Log = std::function<void(const std::string& line)>;
  Shape(const DaemonConfig& daemon, const ShapeConfig& config, Log log);
  ~Shape();
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;

  void start();
  void stop();

  // Classes from the next packet on; interface and direction must be the same. Returns when they are in
  // force.
  void reconfigure(const ShapeConfig& config);

  // What happened to a link of this namespace; opens the host when the shape cannot work any more.
  void link_changed(const Link& link);
  void link_deleted(const Link& link);

  // To be called about once a second: looks whether both threads make progress. False: they do not.
  bool check_progress();

  const ShapeConfig& config() const { return config_; }
  std::string title() const;  // "eth0 egress"
  bool diverting() const { return divert_.attached(); }
  const std::string& state() const { return state_; }

  ShapeStatistics statistics();
  // The largest `limit` flows of a class, by packets sent, dropped and queued. Read in small steps.
  std::vector<FlowStatistics> largest_flows(ClassIndex class_index, std::size_t limit);

 private:
  void open_host(const std::string& reason);
  void capture();
  void drain();

  const Log log_;
  ShapeConfig config_;
  const std::uint64_t hash_seed_;
  std::string state_;  // why the host is open; empty while diverting

  TrafficDivert divert_;
  PacketRing ring_;
  PacketTransmitter transmitter_;
  MonotonicClock clock_;
  TimerWaiter waiter_;
  std::shared_ptr<const Classifier> classifier_;
  Shaper shaper_;
  HandOff hand_off_;
  DrainLoop drain_loop_;
  CaptureLoop capture_loop_;
  std::thread capture_thread_;
  std::thread drain_thread_;
  std::atomic<bool> capture_failed_{false};
  std::string capture_error_;                         // written before capture_failed_ is set
  std::unique_ptr<Reconfiguration> reconfiguration_;  // kept: a thread that is late may still read it
  ShaperStatistics last_statistics_;
  std::size_t last_consumed_ = 0;  // by the drain thread, at the last check
};

std::shared_ptr<const Classifier> make_classifier(const ShapeConfig& config, std::uint64_t hash_seed);

}  // namespace headgate
