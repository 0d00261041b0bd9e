// What the shaper is made of, and the steps that its calls share. Private to shaper*.cpp.
//
// A packet's way: admit() finds its flow and room for it, store() copies it, enqueue() appends it to the
// flow's queue, and the wheel holds the flow at the due time of its first packet. release() pops the flow,
// charges the bucket, takes the first packet out and puts the flow back for the next one, until complete()
// ends the packet.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/backlog_table.hpp"
#include "core/flow_table.hpp"
#include "core/packet_pool.hpp"
#include "core/shaped_class.hpp"
#include "core/shaper.hpp"
#include "core/timing_wheel.hpp"

namespace headgate {

struct Shaper::State {
  // A class keeps its slot through reconfigurations; flows and packets refer to slots, callers to indices.
  using ClassSlot = std::uint16_t;
  static constexpr ClassSlot kNoClass = 0xffff;  // of packets that are sent unshaped

  State(const ShaperLimits& limits, std::vector<ClassConfig> configs);

  ShapedClass& class_at(ClassIndex index) { return *classes[slots[index]]; }
  ClassCounters& counters_of(ClassSlot slot) {
    return slot == kNoClass ? unmatched : classes[slot]->counters;
  }
  ClassCounters& counters_at(ClassIndex index) {
    return index == kUnmatched ? unmatched : class_at(index).counters;
  }

  // Packets that are worked on together.
  static constexpr std::size_t kBatch = 64;
  // Up to so many flows, everything is in the processor's cache, and fetching it ahead costs more than it gains.
  static constexpr std::uint32_t kFlowsInCache = 2'000;
  // Of packets that are admitted, so many when their memory is fetched ahead. The fastest of 16, 24, 32 and 64 where it
  // was measured; with more, what is fetched for the last seems to push out what was fetched for the first.
  static constexpr std::size_t kFetchedAtOnce = 16;

  // shaper.cpp
  void admit_batch(std::span<const ArrivingPacket> batch, Instant now);
  void admit(const ArrivingPacket& packet, FlowNumber flow, Instant now);
  [[gnu::cold]] void drop(const ArrivingPacket& packet, FlowNumber flow, DropReason reason);
  void prefetch_queues(std::span<const FlowNumber> batch) const;
  void prefetch(std::span<const TimingWheel::Item> batch) const;
  void prefetch(const FlowQueue& queue) const;
  void expire_flows(std::uint32_t looks, Instant now);
  FlowNumber find_or_add_flow(const ArrivingPacket& packet, Instant now);
  bool has_room(FlowNumber flow, const ShapedClass& shaped, const ArrivingPacket& packet, Instant now);
  PacketHandle store(const FlowRecord& record, const ArrivingPacket& packet);
  void drop_last(BacklogNumber number);
  void show_drop(PacketHandle packet, ClassIndex class_index, DropReason reason) const;
  void enqueue(FlowNumber flow, PacketHandle packet);
  BacklogNumber backlog_of(FlowNumber flow);
  Count waiting_in(const FlowQueue& queue) const;
  Count queued_in(const FlowQueue& queue) const;
  std::uint32_t chunks_in(const FlowQueue& queue) const;
  LeakyBucket& bucket_of(FlowRecord& record, const ShapedClass& shaped);
  void set_departure(FlowRecord& record, StoredPacket& stored);
  void charge(FlowRecord& record, StoredPacket& stored, Instant now);
  void charge_first(Backlog& backlog, Instant now);
  void release_single(FlowNumber flow, Instant now, DuePacket& due);
  std::size_t release_run(FlowNumber flow, Instant now, Instant others, std::span<DuePacket> out);
  PacketHandle unlink_head(FlowNumber flow);
  PacketHandle unlink_head_of(BacklogNumber number);
  void hand_out(PacketHandle packet, DuePacket& due);
  std::size_t release_immediate(std::span<DuePacket> out);

  // shaper_reconfigure.cpp
  struct Plan;
  Plan plan(std::vector<ClassConfig> configs);
  void take_out_packets(Plan& plan);
  void erase_flows(const Plan& plan);
  void put_in_force(Plan& plan);
  void readmit(PacketHandle packet, const Reclassify& classify, const Leaves& leaves,
               std::vector<std::byte>& frame, Instant now);
  void readmit_to(FlowNumber flow, PacketHandle packet, Instant now);
  void enqueue_immediate(PacketHandle packet, ClassSlot slot, Instant now);

  const Duration idle;
  const std::size_t frame_prefix;
  PacketPool pool;
  FlowTable flows;
  BacklogTable backlogs;
  TimingWheel wheel;  // of flows, at the due times of their first packets

  std::vector<std::unique_ptr<ShapedClass>> classes;  // by slot; null: free
  std::vector<ClassSlot> slots;                       // by index
  ClassCounters unmatched;
  ClassCounters retired;  // of classes that a reconfiguration removed

  // Packets that a reconfiguration left without a shaped class: due at once, in order.
  PacketHandle immediate_head = kNoPacket;
  PacketHandle immediate_tail = kNoPacket;
  Instant immediate_since{};

  std::array<TimingWheel::Item, kBatch> popped;  // of release(): kept, so that it need not be made each time

  DropObserver* drop_observer = nullptr;
  std::size_t outstanding = 0;  // packets released but not completed
  bool lending = false;         // frames that are admitted are lent
};

}  // namespace headgate
