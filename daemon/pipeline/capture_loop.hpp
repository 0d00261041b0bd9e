// The capture loop: reads frames, classifies them, hands each to the drain thread that its flow belongs to, and tells
// the dead-man switch that somebody reads. It owns no packet: a frame stays in its capture slot until the drain thread
// gives the slot back.
//
// Of several workers each has a capture loop, which hands over to all drain threads. A frame that is not shaped goes to
// the one of its own number: what comes by one ring then leaves in order.
//
// look() and wait_until(), or run(), which is both again and again: one thread, in headgated the drain thread of the same
// number. What says so: any thread.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "pipeline/hand_off.hpp"
#include "pipeline/packet_io.hpp"
#include "pipeline/pipeline_watch.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

// The way to one drain thread.
struct CaptureOutput {
  HandOff& hand_off;
  Waiter* drain_waiter;  // null: the drain thread is the one that reads, and needs no waking
};

class CaptureLoop {
 public:
  // `outputs`: to every drain thread of the shape, by number. `worker`: the number of this one.
  CaptureLoop(PacketSource& source, const std::vector<CaptureOutput>& outputs, PipelineWatch& watch,
              Clock& clock, std::shared_ptr<const Classifier> classifier, std::size_t worker = 0);

  // Until stop(), or the source throws; then reads what is still in it, hands over an `end` and returns.
  void run();
  void stop();  // any thread

  // The same in pieces, for a thread that has other work, too: hands over what has arrived, one batch; false when that is
  // nothing. And sleeps until something has arrived, the source is interrupted or the deadline, under load without looking
  // for kNap. After the `end` look() does nothing.
  bool look();
  void wait_until(std::optional<Instant> deadline);
  void interrupt() { source_.interrupt(); }               // any thread
  bool has_arrived() const { return source_.waiting(); }  // any thread

  // What the source threw; null: nothing.
  std::exception_ptr failure() const { return failure_; }

  // `reconfiguration` must live until its promise is kept. One at a time.
  void reconfigure(Reconfiguration& reconfiguration);  // any thread

  // Under load, an empty ring is looked at again after this nap instead of sleeping in poll for every packet.
  static constexpr Duration kNap = std::chrono::microseconds(50);

  // Room that packets leave in each hand-off ring for what must always get through.
  static constexpr std::size_t kReservedEntries = 16;

 private:
  static constexpr std::size_t kBatch = 64;
  // Frames in one reading from which on the next wait naps: below, a packet's delay counts more than the poll.
  static constexpr std::size_t kBusyFrames = 8;

  struct Output {
    HandOff* hand_off;
    Waiter* drain_waiter;
    std::size_t consumed = 0;  // consumed() when the drain thread last moved
    Instant moved_at{};
    bool staged = false;  // something of the present batch
  };

  void end(std::exception_ptr failure = nullptr);
  std::size_t read_batch();
  std::size_t room() const;
  void hand_over(const CapturedFrame& frame, Instant now);
  void fill(HandOffEntry& entry, const CapturedFrame& frame, Instant now) const;
  static HandOffEntry& stage(Output& output);
  Output& output_of(const ArrivingPacket& packet);
  void publish();
  void hand_over(HandOffEntry::Kind kind, Reconfiguration* reconfiguration);
  void adopt_reconfiguration();
  bool drains_take(Instant now);

  PacketSource& source_;
  PipelineWatch& watch_;
  Clock& clock_;
  std::shared_ptr<const Classifier> classifier_;
  const std::size_t worker_;
  std::vector<Output> outputs_;

  std::atomic<bool> stopping_{false};
  std::atomic<Reconfiguration*> pending_{nullptr};
  std::exception_ptr failure_;
  bool ended_ = false;
  bool busy_ = false;            // the last look that found something found much
  bool reset_withheld_ = false;  // some thread did not get on at the last look
  bool blocked_ = false;         // some hand-off ring had no room at the last look
};

}  // namespace headgate
