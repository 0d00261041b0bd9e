// A shape at one of its workers: what it reads there, and where it sends.
//
// Reads frames, classifies them, and admits each to the shaper of the part that its flow belongs to: its own at once,
// another's through a hand-off ring. It owns no packet: a frame stays in its capture slot until the worker that has it
// gives the slot back. A frame that is not shaped leaves by the part that read it, so what comes by one source leaves in
// order.
//
// A shape has as many parts as it has workers. Its shapers outlive its ports: a port goes when the interface changes, and
// another takes its place.
//
// The worker's thread, but for what says otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/clock.hpp"
#include "pipeline/hand_off.hpp"
#include "pipeline/link_header.hpp"
#include "pipeline/outgoing_batch.hpp"
#include "pipeline/packet_io.hpp"
#include "pipeline/packet_taps.hpp"
#include "pipeline/reconfiguration.hpp"
#include "pipeline/shape_watch.hpp"
#include "pipeline/waiter.hpp"

namespace headgate {

class SuperPacket;

// Another part of the same shape.
struct PortPeer {
  HandOff& to;
  HandOff& from;
  PacketSource& source;  // where the frames stand that it hands over
  Waiter& waiter;        // of its worker
};

// What becomes of super-packets of shaped classes, those that can be cut (super_packet.hpp).
enum class SuperPacketCut : std::uint8_t {
  none,             // they stay whole
  by_rate,          // into pieces, by the rate of their class; of UDP into single segments
  single_segments,  // into the packets that they stand for
};

struct PortOptions {
  PacketSource& source;
  PacketSink& sink;
  Shaper& shaper;
  PacketTaps& taps;
  ShapeWatch& watch;
  std::shared_ptr<const Classifier> classifier;
  SuperPacketCut super_packet_cut = SuperPacketCut::none;
  LinkHeader link_header = LinkHeader::ethernet;
  std::size_t part = 0;
  std::vector<std::optional<PortPeer>> peers =
      std::vector<std::optional<PortPeer>>(1);  // by part; none: this one
};

class Port {
 public:
  Port(PortOptions options, Clock& clock);

  // Reads at most `most` frames and takes at most `most` hand-overs. What is not shaped goes to `outgoing`. Returns how
  // many frames and hand-overs there were. Clears instead, where the shape's watch says so.
  std::size_t read(std::size_t most, OutgoingBatch& outgoing);
  std::size_t take_hand_overs(std::size_t most);
  bool has_hand_overs() const;
  // A reset of the dead-man switch was refused or put off: the port must look again even if no frame comes.
  bool must_look_again() const { return reset_withheld_ || clearing_; }
  // The worker has been away for longer than the patience, and is to send before it has come to each port: drops what
  // waits where younger packets have passed it.
  void look_after_pause(Instant now);
  // What the last read() found had waited because the worker had no processor.
  bool was_late() const { return was_late_; }
  // A hand-off ring was full at the last look.
  bool blocked() const { return blocked_; }

  // Nothing may refer to a frame any more.
  void give_back_slots();
  std::size_t slots_out() const;

  // Resets the dead-man switch although nothing was read. For when what was diverted last is lost.
  void look_at_switch();

  // New classes, one reconfiguration at a time. go_on() takes the steps that can be taken; no slot may be out then.
  // `send_due`: sends all that is due.
  void begin(Reconfiguration& reconfiguration);
  bool can_go_on() const;
  void go_on(const std::function<void()>& send_due);

  // Reads what is left in the source, hands it over, and then reads no more. `done` is called when nothing more comes from
  // its peers either, and no slot is out.
  void begin_end(std::function<void()> done);
  bool has_ended() const;
  void note_end() { std::exchange(ended_, nullptr)(); }
  // What the source threw; null: nothing. Any thread once failed().
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::exception_ptr failure() const { return failure_; }

  bool reads() const { return reconfiguration_ == nullptr && !own().ended; }
  void observe(bool on);  // the taps want to see its packets
  PacketTaps* taps() const { return observed_ ? &taps_ : nullptr; }
  Shaper& shaper() { return shaper_; }
  PacketSink& sink() { return sink_; }
  PacketSource& source() { return source_; }

  // Room that packets leave in each hand-off ring for what must always get through.
  static constexpr std::size_t kReservedEntries = 16;
  static constexpr std::size_t kBatch = OutgoingBatch::kBatch;
  // Frames in one reading from which on a worker is busy.
  static constexpr std::size_t kBusyFrames = 8;

 private:
  // While super-packets are cut, so many frames are read at once: each may become tens of packets.
  static constexpr std::size_t kFramesWhileCutting = 4;
  // For so long at least after late packets, and as long as they had waited, an overflow is put down to them. A quota of
  // the kernel's default period makes a worker late once in that time.
  static constexpr Duration kEcho = std::chrono::milliseconds(100);

  struct Input {
    HandOff* from = nullptr;  // null: the port's own source
    PacketSource* source = nullptr;
    std::vector<std::uint32_t> slots;  // to give back
    bool stands = false;               // nothing is taken from it: the reconfiguration was met there
    bool ended = false;
  };
  struct Output {
    HandOff* to = nullptr;  // null: this part
    Waiter* waiter = nullptr;
    bool staged = false;  // something of the present batch
  };

  Input& own() { return inputs_[part_]; }
  const Input& own() const { return inputs_[part_]; }
  std::size_t room() const;
  std::size_t receive(std::size_t limit);
  void note_lateness(Instant now);
  void look_whether_to_clear(Instant now);
  void take(std::size_t count, OutgoingBatch& outgoing);
  ArrivingPacket describe(const CapturedFrame& captured, Instant now) const;
  void clear(std::size_t count, bool all);
  void drop_queued();
  void drop(const ArrivingPacket& packet, DropReason reason, bool clipped);
  void hand_over(const ArrivingPacket& packet, std::uint32_t slot);
  void tell_peers(HandOffEntry::Kind kind);
  void publish();
  void arrive(const ArrivingPacket& packet, Instant now);
  bool arrive_in_pieces(const ArrivingPacket& packet, Instant now);
  std::size_t segments_of_a_piece(const SuperPacket& super_packet, ClassIndex class_index) const;
  void add_arriving(const ArrivingPacket& packet, Instant now, Shaper::Frames frames);
  void admit(Instant now);
  void admit_arriving(Instant now);
  void end_reading(std::exception_ptr failure = nullptr);
  bool every_input_stands() const;
  void put_in_force(Reconfiguration& reconfiguration);

  PacketSource& source_;
  PacketSink& sink_;
  Shaper& shaper_;
  PacketTaps& taps_;
  ShapeWatch& watch_;
  Clock& clock_;
  std::shared_ptr<const Classifier> classifier_;
  const SuperPacketCut super_packet_cut_;
  const std::size_t added_bytes_;  // of each frame, that its packet does not have on the wire
  const std::size_t part_;
  std::vector<Input> inputs_;    // by part
  std::vector<Output> outputs_;  // by part

  bool observed_ = false;
  std::function<void()> ended_;  // set: reads no more than what is left
  bool was_late_ = false;
  bool late_ = false;  // what stands in the source has waited there for want of a processor
  // Until then what comes in time finds queues that late packets have filled.
  Instant late_until_{};
  bool clearing_ = false;
  Instant cleared_at_{};
  bool reset_withheld_ = false;
  bool blocked_ = false;
  Reconfiguration* reconfiguration_ = nullptr;
  std::optional<Reconfiguration::Step>
      waits_for_;  // the step that this part has ended and others may not have
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};

  std::array<CapturedFrame, kBatch> frames_;
  std::array<ArrivingPacket, kBatch> arriving_;
  std::size_t arriving_count_ = 0;
  Shaper::Frames arriving_frames_ = Shaper::Frames::lent;  // of those in arriving_
  std::vector<std::byte> pieces_;                          // of super-packets, until they are admitted
  std::size_t pieces_used_ = 0;
  bool cuts_ = false;  // the last reading had some
};

}  // namespace headgate
