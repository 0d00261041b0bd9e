// A shaper in a schedule of its own, as one object: for tests in which no other shape matters.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/schedule.hpp"
#include "core/shaper.hpp"
#include "support/heap_memory.hpp"

namespace headgate {

// All at once, for who may wait for memory.
inline void reconfigure(Shaper& shaper, std::vector<ClassConfig> classes, const Shaper::Reclassify& classify,
                        Instant now, const Shaper::GiveAway& give_away = {}, const TreeConfig& tree = {}) {
  const std::unique_ptr<Shaper::Change> change = shaper.prepare(std::move(classes), tree);
  shaper.reconfigure(*change, classify, now, give_away);
}

class LoneShaper {
 public:
  LoneShaper(const ShaperLimits& limits, std::vector<ClassConfig> classes, Instant now,
             const TreeConfig& tree = {})
      : schedule({.memory = limits.memory, .max_flows = limits.max_flows}, memory, now),
        shaper(limits, std::move(classes), memory, tree) {
    schedule.add(shaper);
  }
  ~LoneShaper() {
    shaper.drop_all(DropReason::stop);
    schedule.remove(shaper);
  }
  LoneShaper(const LoneShaper&) = delete;
  LoneShaper& operator=(const LoneShaper&) = delete;

  void admit(std::span<const ArrivingPacket> packets, Instant now,
             Shaper::Frames frames = Shaper::Frames::copied) {
    shaper.admit(packets, now, frames);
    schedule.grow_ahead();
  }
  std::size_t release(Instant now, std::span<DuePacket> out) { return schedule.release(now, out); }
  // All of it: what is left after the last call is nothing, so the shaper goes on.
  std::size_t release_all(std::span<DuePacket> out, Instant now) {
    const std::size_t count = shaper.release_all(out);
    if (count < out.size()) shaper.resume(now);
    return count;
  }
  std::size_t frame_parts(const DuePacket& packet, std::span<std::span<const std::byte>> parts) const {
    return schedule.frame_parts(packet, parts);
  }
  void complete_sent(std::span<const DuePacket> packets, Instant now) {
    schedule.complete_sent(packets, now);
  }
  void complete_dropped(std::span<const DuePacket> packets, DropReason reason) {
    schedule.complete_dropped(packets, reason);
  }
  std::optional<Instant> next_release() const { return schedule.next_release(); }

  void reconfigure(std::vector<ClassConfig> classes, const Shaper::Reclassify& classify, Instant now,
                   const Shaper::GiveAway& give_away = {}, const TreeConfig& tree = {}) {
    headgate::reconfigure(shaper, std::move(classes), classify, now, give_away, tree);
  }
  void readmit(const ArrivingPacket& packet, Instant now) { shaper.readmit(packet, now); }
  void count_unshaped(ClassIndex class_index, Count received, Count sent, Count send_failed) {
    shaper.count_unshaped(class_index, received, sent, send_failed);
  }
  void count_dropped(ClassIndex class_index, Count dropped, DropReason reason) {
    shaper.count_dropped(class_index, dropped, reason);
  }
  ShaperStatistics statistics(Instant now) { return shaper.statistics(now); }
  std::optional<std::uint32_t> visit_flows(ClassIndex class_index, std::uint32_t from, std::uint32_t records,
                                           const std::function<void(const FlowStatistics&)>& visit) const {
    return shaper.visit_flows(class_index, from, records, visit);
  }

  HeapMemory memory;
  Schedule schedule;
  Shaper shaper;
};

}  // namespace headgate
