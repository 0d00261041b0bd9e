// The daemon's core in virtual time: traffic through the classifier, the shaper and the schedule of one shape, as fast as it
// goes. Not a second telling of them: they are those that the packets of headgated go through.
//
// What stands around them in headgated is left out: no kernel, no rings, no wake-ups, no super-packets, one worker. Each
// packet leaves at the instant that its bucket and the tree mean it to leave. Senders do not react: what was dropped is not
// sent again, and nobody slows down.
//
// Packets of one instant are admitted together, as headgated admits what it reads at once. Where the shape has no tree,
// those of a hundred microseconds are: what is dropped and when what leaves hangs on the arrivals alone there
// (core/shaper.hpp), so the results are the same.
//
// Control traffic within the shape's limit goes on unshaped and is in no other count, as in headgated. Of what only the
// kernel knows there is a mark, where the traffic says one; no packet is of a cgroup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/classifier.hpp"
#include "core/control_meter.hpp"
#include "core/schedule.hpp"
#include "core/shaper.hpp"
#include "linux/mapped_memory.hpp"
#include "packet_slots.hpp"
#include "tally.hpp"
#include "traffic.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

class CompiledMatches;

// Is shown what happens to each packet, in order of time. Frames without what is kept in front of them, in parts; they may
// be longer than what the traffic had of them, by zeros.
class SimulationWitness {
 public:
  using Frame = std::span<const std::span<const std::byte>>;

  virtual ~SimulationWitness() = default;
  virtual void sent(ClassIndex class_index, Frame frame, const TalliedPacket& packet, Instant at) = 0;
  virtual void dropped(ClassIndex class_index, Frame frame, const TalliedPacket& packet, DropReason reason,
                       Instant at) = 0;
};

class Simulation : private DropObserver {
 public:
  // Time begins at `start`. `witness`: null, or outlives it; it costs speed. Throws std::runtime_error, a sentence.
  Simulation(const DaemonConfig& daemon, const ShapeConfig& shape, CompiledMatches& matches, Instant start,
             SimulationWitness* witness = nullptr);
  ~Simulation() override;
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Called now and then, with the virtual time and the packets so far.
  using Progress = std::function<void(Duration, std::uint64_t)>;

  // Once. All of the traffic, and until nothing waits; with `until` no longer than that, and what waits then is queued.
  void run(Traffic& traffic, std::optional<Duration> until, const Progress& progress = {});

  const ShapeConfig& shape() const { return shape_; }
  Instant start() const { return start_; }
  Instant end() const { return end_; }
  ShaperStatistics statistics() { return shaper_.statistics(now_); }
  const Count& control_traffic() const { return control_traffic_; }
  // Of class numbers as in the shape; the last is what no class takes.
  const Tally& tally() const { return tally_; }

 private:
  static constexpr std::size_t kBatch = PacketSlots::kSlots;

  void take(const OfferedPacket& offered);
  bool goes_on_as_control(const ArrivingPacket& packet);
  void pass_unshaped(const ArrivingPacket& packet);
  std::span<const std::span<const std::byte>> with_tag(const ArrivingPacket& packet);
  void admit();
  void release_until(Instant end);
  void release_due();

  void dropped(const ArrivingPacket& packet, DropReason reason) override;
  void dropped(ClassIndex class_index, std::span<const std::span<const std::byte>> frame,
               DropReason reason) override;

  const ShapeConfig shape_;
  const Instant start_;
  SimulationWitness* const witness_;
  const Duration step_;  // arrivals and departures of so much time are taken together
  std::shared_ptr<const Classifier> classifier_;
  std::unique_ptr<ControlMeter> control_meter_;  // null: a class takes control traffic
  MappedMemory memory_{false};
  Shaper shaper_;
  Schedule schedule_;
  Tally tally_;
  PacketSlots slots_;
  std::array<ArrivingPacket, kBatch> arriving_;
  std::size_t arriving_count_ = 0;
  std::array<DuePacket, kBatch> due_;
  std::array<std::span<const std::byte>, kMaxFrameParts> parts_;
  std::array<std::byte, 4> tag_{};
  Count control_traffic_;
  std::uint64_t taken_ = 0;
  Instant now_;
  Instant end_;
};

}  // namespace headgate
