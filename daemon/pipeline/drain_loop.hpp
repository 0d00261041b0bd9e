// The drain thread: reads what has arrived, admits what the capture loop hands over, sends what is due, and sleeps until
// the next packet is due or arrives, or a request. It alone owns the shaper, so nothing on a packet's way takes a lock.
//
// Of several workers each has a drain thread with a shaper of its own, which holds the flows that drain_of() gives it,
// and takes what the capture loops of all hand it.
//
// run() on the drain thread; everything else from any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/shaper.hpp"
#include "pipeline/capture_loop.hpp"
#include "pipeline/hand_off.hpp"
#include "pipeline/packet_io.hpp"
#include "pipeline/packet_taps.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

// The way from one capture loop, and its source, which gets the slots back.
struct DrainInput {
  HandOff& hand_off;
  PacketSource& source;
};

class DrainLoop {
 public:
  // `inputs`: from every capture loop of the shape. `worker`: the number of this one.
  DrainLoop(const std::vector<DrainInput>& inputs, PacketSink& sink, Waiter& waiter, Clock& clock,
            Shaper& shaper, std::shared_ptr<const Classifier> classifier, std::size_t worker = 0);

  // Before run(): the drain thread itself reads the source of its number, before each batch and, by its waiter, instead of
  // sleeping.
  void read_too(CaptureLoop& reader) { reader_ = &reader; }

  // Before run(): the thread has real-time priority, and rests for the sake of others.
  void set_real_time() { real_time_ = true; }

  // Until the `end` of every capture loop. What is queued then stays in the shaper, or after send_rest_at_end(true) is sent,
  // unpaced, for at most kStopTime, and the rest counted as dropped (stop).
  void run();

  // Runs `request` in the drain thread between two batches and waits for it at most `patience`. False: not
  // run in that time (it may still run later, so it must own what it touches) or the loop has ended.
  using Request = std::function<void(Shaper& shaper, PacketSink& sink, Instant now)>;
  bool call(Request request, Duration patience);

  // In the drain thread or before run(): shows what happens to packets to `taps`. Null: to nobody.
  void observe(PacketTaps* taps);

  void send_rest_at_end(bool send) { send_rest_at_end_.store(send, std::memory_order_release); }

  const DrainHealth& health() const { return health_; }
  // The loop has ended; what it owned may be used by whoever joined the thread.
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  static constexpr Duration kStopTime = std::chrono::seconds(2);

 private:
  static constexpr std::size_t kBatch = 64;
  // Large frames stay in their capture slots for so long, as long as there are no more slots out than these.
  static constexpr Duration kLoan = std::chrono::microseconds(100);
  static constexpr std::size_t kMostSlots = 4 * kBatch;
  // A real-time thread that has the processor for more than 95 % of a second is stopped by the kernel for the rest of it,
  // for the ordinary threads' sake. It gives them the same share in small pieces: after a stretch of which it took more
  // than so much.
  static constexpr Duration kStretch = std::chrono::milliseconds(10);
  static constexpr int kMostPercent = 94;
  static constexpr Duration kRest = std::chrono::microseconds(650);

  struct PendingRequest {
    Request request;
    std::promise<bool> done;  // false: the loop had ended
  };

  struct Input {
    HandOff* hand_off;
    PacketSource* source;
    std::vector<std::uint32_t> slots;  // to give back
    bool stands = false;               // nothing is taken from it: the reconfiguration was met there
    bool ended = false;
  };

  bool take_hand_overs();
  bool take_from(Input& input);
  bool has_hand_overs() const;
  bool all_ended() const;
  bool leaves_lent(std::optional<Instant> next) const;
  void give_back_slots();
  void go_on_with_reconfiguration();
  bool reconfiguration_can_go_on() const;
  bool every_input_stands() const;
  void put_in_force(Reconfiguration& reconfiguration);
  void send_due(Instant now);
  void stage_unshaped(const HandOffEntry& entry);
  void send_staged();
  void count_unshaped_results();
  void tap_arrival(const HandOffEntry& entry);
  void tap_results(std::size_t total);
  void tap_stop();
  void complete_due(std::size_t first_frame);
  std::span<const std::span<const std::byte>> without_prefix(
      std::span<const std::span<const std::byte>> frame);
  void run_requests();
  void publish_next_due(std::optional<Instant> next);
  void sleep_until(std::optional<Instant> next);
  void rest_at_times(Instant now);
  void send_rest();

  std::vector<Input> inputs_;
  std::size_t first_input_ = 0;  // the one that the next batch begins with
  const std::size_t worker_;
  PacketSink& sink_;
  Waiter& waiter_;
  Clock& clock_;
  Shaper& shaper_;
  std::shared_ptr<const Classifier> classifier_;
  CaptureLoop* reader_ = nullptr;  // null: somebody else reads
  bool real_time_ = false;
  PacketTaps* taps_ = nullptr;  // null: no capture runs
  DrainHealth health_;
  Instant stretch_since_{};
  Duration processor_time_{};                   // at its start
  Reconfiguration* reconfiguration_ = nullptr;  // met in some input and not ended
  std::optional<Reconfiguration::Step>
      waits_for_;  // the step that this thread has ended and others may not have
  std::atomic<bool> send_rest_at_end_{false};
  std::atomic<bool> ended_{false};

  // One batch: unshaped frames first (straight from their capture slots), then the due ones.
  std::size_t unshaped_count_ = 0;
  std::size_t due_count_ = 0;
  std::size_t arriving_count_ = 0;
  std::size_t batch_count_ = 0;  // of hand-overs
  std::size_t slot_count_ = 0;   // to give back, of all inputs
  std::array<ArrivingPacket, kBatch> arriving_;
  std::array<ClassIndex, kBatch> unshaped_class_;
  std::array<Count, kBatch> unshaped_charge_;
  std::array<DuePacket, kBatch> due_;
  std::vector<std::span<const std::byte>> parts_;  // of all frames of the batch
  std::size_t part_count_ = 0;
  std::array<OutgoingFrame, 2 * kBatch> frames_;
  std::array<bool, 2 * kBatch> sent_;
  struct TaggedHeader {
    std::array<std::byte, 32> bytes;
  };
  std::array<TaggedHeader, kBatch>
      tagged_headers_;  // prefix, MAC addresses and the tag put back, of unshaped frames

  std::atomic<bool> has_requests_{false};
  std::mutex requests_mutex_;
  std::vector<std::shared_ptr<PendingRequest>> requests_;
};

}  // namespace headgate
