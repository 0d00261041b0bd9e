// What ties a shaper to an interface: the divert, the capture ring, the transmitter and the two threads between them.
// The shaper outlives it, with its queues and counters, so an attachment can be replaced when the interface changes.
//
// Main thread, except what says otherwise. Construction makes everything but diverts no packet.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/config.hpp"
#include "linux/capture_source.hpp"
#include "linux/packet_transmitter.hpp"
#include "linux/timer_waiter.hpp"
#include "linux/traffic_divert.hpp"
#include "pipeline/capture_loop.hpp"
#include "pipeline/drain_loop.hpp"

namespace headgate {

class Attachment {
 public:
  using Log = std::function<void(const std::string& line)>;  // called by any thread

  // Throws a sentence for the administrator. `shaper` belongs to the drain thread from start() to stop().
  // So do `taps`.
  Attachment(const DaemonConfig& daemon, const ShapeConfig& shape,
             std::shared_ptr<const Classifier> classifier, Shaper& shaper, PacketTaps& taps, Log log);
  ~Attachment();  // as stop(Queued::keep)
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  void start();

  // Opens the host; nothing is diverted from here on. The threads go on with what they have.
  void detach() { divert_.detach(); }

  // Inline: stop() leaves the wire between the two interfaces, for another attachment will follow.
  void keep_wire() { divert_.keep_wire(); }

  enum class Queued { send, keep };
  // Detaches, takes over what was diverted already, ends both threads. `send`: what is queued is sent first, unpaced.
  void stop(Queued queued);

  // Returns when both threads classify and shape by the new classes. Throws when they do not take them.
  void reconfigure(const ShapeConfig& shape, std::shared_ptr<const Classifier> classifier);

  // To be called about once a second. False: a thread has work and does not get on with it.
  bool check_progress();

  // Why the capture thread ended by itself; empty while it runs.
  std::string capture_error() const;

  // Runs `request` in the drain thread; see DrainLoop::call().
  bool call(DrainLoop::Request request);

  // Runs `change` in the drain thread, which shows the packets to whatever taps there are then. As call().
  bool change_taps(std::function<void(PacketTaps& taps)> change);

  bool diverting() const { return divert_.attached(); }
  const TrafficDivert& divert() const { return divert_; }
  std::uint64_t lost_ring() const { return source_->lost(); }

 private:
  void observe_taps();
  void capture();
  void drain();

  const std::string title_;
  const Log log_;
  TrafficDivert divert_;
  std::unique_ptr<CaptureSource> source_;
  PacketTransmitter transmitter_;
  PacketTaps& taps_;
  MonotonicClock clock_;
  TimerWaiter waiter_;
  HandOff hand_off_;
  DrainLoop drain_loop_;
  CaptureLoop capture_loop_;
  std::thread capture_thread_;
  std::thread drain_thread_;
  std::unique_ptr<Reconfiguration> reconfiguration_;  // kept: a thread that is late may still read it
  std::atomic<bool> capture_failed_{false};
  std::string capture_error_;      // written before capture_failed_ is set
  std::size_t last_consumed_ = 0;  // by the drain thread, at the last check
};

std::string title_of(const ShapeConfig& shape);  // "eth0 egress"

}  // namespace headgate
