// What a shaper is made of, and the steps that its calls share. Private to the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/flow_table.hpp"
#include "core/longest_queues.hpp"
#include "core/schedule_state.hpp"
#include "core/shaped_class.hpp"
#include "core/shaper.hpp"

namespace headgate {

struct ShaperState {
  ShaperState(const ShaperLimits& limits, std::vector<ClassConfig> configs, MemorySource& memory);

  ShapedClass& class_at(ClassIndex index) const { return *classes[class_numbers[index]]; }
  ClassCounters& counters_of(ClassNumber class_number) {
    return class_number == kNoClass ? unmatched : classes[class_number]->counters;
  }
  ClassCounters& counters_at(ClassIndex index) {
    return index == kUnmatched ? unmatched : class_at(index).counters;
  }
  PacketPool& pool() const { return schedule->pool; }
  BacklogTable& backlogs() const { return schedule->backlogs; }

  // admission.cpp
  void admit_batch(std::span<const ArrivingPacket> batch, Instant now, Shaper::Frames frames);
  void admit(const ArrivingPacket& packet, FlowNumber flow, Instant now, Shaper::Frames frames);
  [[gnu::cold]] void drop(const ArrivingPacket& packet, FlowNumber flow, DropReason reason);
  FlowNumber find_or_add_flow(const ArrivingPacket& packet, Instant now);
  void expire_flows(std::uint32_t looks, Instant now);
  bool surely_has_room(const FlowQueue& queue, const ShapedClass& shaped, const Cost& cost) const;
  bool has_room(const FlowRecord& record, const ShapedClass& shaped, const ArrivingPacket& packet,
                Instant now) const;
  PacketHandle store(const FlowRecord& record, const ArrivingPacket& packet, Shaper::Frames frames);
  [[gnu::cold]] bool shorten_longest_queue(const FlowRecord& record, std::uint32_t chunks);

  // prefetching.cpp
  void prefetch_queues(std::span<const FlowNumber> batch) const;
  void prefetch(const FlowQueue& queue) const;

  // flow_queues.cpp
  bool make_place(const FlowQueue& queue);
  void enqueue(FlowNumber flow, PacketHandle packet);
  void schedule_flow(FlowNumber flow, Instant due);
  BacklogNumber backlog_of(FlowNumber flow);
  PacketHandle first_of(const FlowQueue& queue) const;
  PacketHandle first_waiting_in(const FlowQueue& queue) const;
  Cost waiting_in(const FlowQueue& queue) const;
  Cost queued_in(const FlowQueue& queue) const;
  std::uint32_t chunks_in(const FlowQueue& queue) const;
  void drop_last(BacklogNumber number);
  void drop_queued(PacketHandle packet, DropReason reason);
  void show_drop(PacketHandle packet, DropReason reason) const;
  void free_packet(PacketHandle packet);
  void leave_wheel();

  // departure.cpp
  LeakyBucket& bucket_of(FlowRecord& record, const ShapedClass& shaped) const;
  void set_turn(FlowRecord& record, StoredPacket& stored) const;
  void commit(FlowRecord& record, StoredPacket& stored, Instant now);
  void commit_first(Backlog& backlog, Instant now);
  PacketHandle unlink_head(FlowNumber flow);
  PacketHandle unlink_head_of(BacklogNumber number);
  void let_go(FlowNumber flow, Instant by, Instant now);
  void release_single(FlowNumber flow, Instant now, DuePacket& due);
  std::size_t release_run(FlowNumber flow, Instant now, Instant others, std::span<DuePacket> out);
  void hand_out(PacketHandle packet, DuePacket& due);
  std::size_t release_immediate(std::span<DuePacket> out);
  std::size_t complete_sent_of_class(std::span<const DuePacket> packets, Instant now);
  void complete_dropped(const DuePacket& packet, DropReason reason);

  // shaper_reconfigure.cpp
  PacketHandle take_out_packets(const Shaper::Change::Content& change);
  PacketHandle take_out_queue(FlowNumber flow);
  void erase_flows(const Shaper::Change::Content& change);
  void put_in_force(Shaper::Change::Content& change);
  void readmit(PacketHandle packet, const Shaper::Reclassify& classify, const Shaper::GiveAway& give_away,
               std::vector<std::byte>& frame, Instant now);
  void readmit_to(FlowNumber flow, PacketHandle packet, Instant now);
  void enqueue_immediate(PacketHandle packet, ClassNumber class_number, Instant now);

  const std::uint32_t max_chunks;  // packet memory that this shape may use
  const Duration idle;
  const std::size_t frame_prefix;
  FlowTable flows;
  LongestQueues longest_queues;

  ScheduleState* schedule = nullptr;
  ShapeNumber shape_number = kNoShape;
  bool suspended = false;           // no flow of it is in the wheel
  FlowNumber next_to_release = 0;   // by release_all(); all flows before it have no packets
  std::uint32_t chunks_in_use = 0;  // those that are set aside for frames that are lent among them
  std::size_t outstanding = 0;      // packets released but not completed

  std::vector<std::unique_ptr<ShapedClass>> classes;  // by number; null: free
  std::vector<ClassNumber> class_numbers;             // by index
  ClassCounters unmatched;
  ClassCounters retired;  // of classes that a reconfiguration removed
  ScheduleShifts shifts;

  // Packets that a reconfiguration left without a shaped class: due at once, in order.
  PacketHandle immediate_head = kNoPacket;
  PacketHandle immediate_tail = kNoPacket;
  Instant immediate_since{};

  DropObserver* drop_observer = nullptr;
};

}  // namespace headgate
