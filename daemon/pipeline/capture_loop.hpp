// The capture thread: reads frames, classifies them, hands them to the drain thread, and tells the dead-man
// switch that somebody reads. It owns no packet: a frame stays in its capture slot until the drain thread
// gives the slot back.
//
// run() on the capture thread; everything else from any thread.
#pragma once

#include <atomic>
#include <memory>

#include "pipeline/hand_off.hpp"
#include "pipeline/packet_io.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

class CaptureLoop {
 public:
  CaptureLoop(PacketSource& source, HandOff& hand_off, Waiter& drain_waiter, DeadManSwitch& dead_man_switch,
              const DrainHealth& drain_health, Clock& clock, std::shared_ptr<const Classifier> classifier);

  // Until stop(); then reads what is still in the source, hands over an `end` and returns. Throws what
  // PacketSource::wait() throws, after handing over the `end`.
  void run();
  void stop();

  // `reconfiguration` must live until its promise is kept. One at a time.
  void reconfigure(Reconfiguration& reconfiguration);

  // Under load, an empty ring is looked at again after this nap instead of sleeping in poll for every packet.
  static constexpr Duration kNap = std::chrono::microseconds(50);

 private:
  static constexpr std::size_t kBatch = 64;
  // Frames in one reading from which on the next empty look naps: below, a packet's delay counts more than
  // the poll.
  static constexpr std::size_t kBusyBatch = 8;

  void read_until_stopped();
  std::size_t read_batch();
  void hand_over(const CapturedFrame& frame, Instant now);
  void hand_over(HandOffEntry::Kind kind, Reconfiguration* reconfiguration);
  void adopt_reconfiguration();
  void note_drain_progress(Instant now);
  bool drain_healthy(Instant now) const;

  PacketSource& source_;
  HandOff& hand_off_;
  Waiter& drain_waiter_;
  DeadManSwitch& dead_man_switch_;
  const DrainHealth& drain_health_;
  Clock& clock_;
  std::shared_ptr<const Classifier> classifier_;

  std::atomic<bool> stopping_{false};
  std::atomic<Reconfiguration*> pending_{nullptr};
  bool reset_withheld_ = false;        // the drain thread was unhealthy at the last look
  std::size_t progress_consumed_ = 0;  // consumed() when the drain thread last moved
  Instant progress_time_{};
};

}  // namespace headgate
