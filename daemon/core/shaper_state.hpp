// What a shaper is made of, and the steps that its calls share. Private to the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/flow_table.hpp"
#include "core/schedule_state.hpp"
#include "core/shape_tree.hpp"
#include "core/shaped_class.hpp"
#include "core/shaper.hpp"
#include "core/shaper_budget.hpp"

namespace headgate {

// Flow records that are looked at in search of one for a new flow when there is none.
inline constexpr std::uint32_t kLooksWhenFull = 32;

inline bool fits(const QueueCapacity& capacity, const Cost& waiting, const Cost& packet) {
  return (!capacity.packets || waiting.packets + packet.packets <= *capacity.packets) &&
         (!capacity.bytes || waiting.bytes + packet.bytes <= capacity.bytes->bytes);
}

// Packets of a flow that its bucket has not let go, and the bucket in front of them.
struct WaitingPackets {
  FlowBucket bucket;
  Cost cost;
  std::optional<Instant> first_leaves;  // none: nothing waits

  // Of a packet that comes now; it does not wait if that is its arrival. What waits is charged to the bucket.
  Instant departure_behind(const BucketParameters& parameters, const ArrivingPacket& packet);
};

// Where the flows go that a round has when it ends.
enum class Rounds : std::uint8_t { nowhere, to_wheel };

struct ShaperState {
  ShaperState(const ShaperLimits& limits, std::vector<ClassConfig> configs, MemorySource& memory,
              const TreeConfig& tree_config);

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
  [[gnu::noinline]] void admit_in_tree(const ArrivingPacket& packet, FlowNumber flow, Shaper::Frames frames);
  [[gnu::cold]] void drop(const ArrivingPacket& packet, FlowNumber flow, DropReason reason);
  FlowNumber find_or_add_flow(const ArrivingPacket& packet, Instant now);
  void expire_flows(std::uint32_t looks, Instant now, Duration after);
  bool surely_has_room(const FlowRecord& record, const ShapedClass& shaped, const Cost& cost) const;
  bool has_room(const FlowRecord& record, const ShapedClass& shaped, const ArrivingPacket& packet,
                Instant now) const;
  bool has_room(const FlowRecord& record, const ShapedClass& shaped, WaitingPackets waiting,
                const ArrivingPacket& packet) const;
  WaitingPackets waiting_at(const FlowRecord& record, const ShapedClass& shaped, Instant arrival,
                            Instant now) const;
  bool as_new(const FlowRecord& record, Instant since) const;
  std::uint32_t chunks_for(const ArrivingPacket& packet) const;
  bool another_pays(const FlowRecord& record, std::uint32_t chunks) const;
  PacketHandle store(const FlowRecord& record, const ArrivingPacket& packet, Shaper::Frames frames);
  // For a frame whose headers may change while it waits.
  static Shaper::Frames not_lent(Shaper::Frames frames) {
    return frames == Shaper::Frames::lent ? Shaper::Frames::copied : frames;
  }
  [[gnu::cold]] bool shorten_longest_queue(const FlowRecord& record, std::uint32_t chunks);

  // explanation.cpp
  std::optional<Rate> leased_rate_of(const ShapedClass& shaped, const FlowRecord& record) const;
  void explain_bucket(const FlowRecord& record, const ArrivingPacket& packet, Instant now,
                      FlowOutlook& outlook) const;
  void explain_in_tree(const FlowRecord& record, const ArrivingPacket& packet, Instant now,
                       FlowOutlook& outlook) const;
  void explain_policing(const FlowRecord& record, const ArrivingPacket& packet, Instant now,
                        FlowOutlook& outlook) const;
  WaitingPackets waiting_when_let_go(const FlowRecord& record, const ShapedClass& shaped, Instant by,
                                     Instant now) const;
  bool nothing_waits_in_tree() const;
  bool would_find_record(Instant now) const;
  bool would_find_memory(const FlowRecord& record, const ArrivingPacket& packet) const;

  // policing.cpp
  [[gnu::noinline]] void police(const ArrivingPacket& packet, FlowNumber flow, Instant now,
                                Shaper::Frames frames);
  void remark(ShapedClass& shaped, PacketHandle packet, bool tag_put_back, std::uint8_t dscp);
  void forget_remark(const StoredPacket& stored);
  void charge_readmitted(ShapedClass& shaped, FlowRecord& record, StoredPacket& stored, bool was_remarked,
                         Instant now);
  void change_policer(ShapedClass& shaped, const ClassConfig& config, Instant now);
  void change_policed_flows();

  // plan_changes.cpp
  void change_member(ShapedClass& shaped, Shaper::MemberUpdate& update, Instant now);
  void look_up_plan(FlowNumber flow, Instant now);
  void look_up_all_plans();
  void look_up_plans(std::uint32_t looks, Instant now);
  void change_planned_flows(Instant now);

  // plans_together.cpp
  bool gathers() const;
  void gather(ArrivingPacket& packet) const;
  bool is_nobodys(FlowNumber flow) const;
  bool holds_others(FlowNumber flow) const;
  FlowKey address_key_of(PacketHandle packet) const;
  void note_moved(ShapedClass& shaped);
  void note_new_members(ShapedClass& shaped);
  [[gnu::cold]] void move_packets(Instant now);
  PacketHandle take_out_moved();
  void move(PacketHandle packet, Instant now);
  // leased_rates.cpp
  void lease(const LeasedRate& lease, Instant now);
  Instant end_leases(Instant now);
  void set_rate(const RatePlace& place, const Rate& rate, Instant now);
  void set_bucket_rate(ShapedClass& shaped, const Rate& rate, Instant now);
  void set_plan_rate(ShapedClass& shaped, PlanNumber plan, const Rate& rate, Instant now);
  void end_lease_of(ShapedClass& shaped, const ClassConfig& config, Instant now);
  FlowNumber common_flow_of(const ShapedClass& shaped, PlanNumber plan) const;
  RateDemand demand(const RatePlace& place) const;

  // prefetching.cpp
  void prefetch_classes(std::span<const ArrivingPacket> packets) const;
  void prefetch_queues(std::span<const FlowNumber> batch) const;
  void prefetch(const FlowQueue& queue) const;

  // flow_queues.cpp
  bool make_place(const FlowQueue& queue);
  void enqueue(FlowNumber flow, PacketHandle packet);
  void append(FlowRecord& record, BacklogNumber number, PacketHandle packet);
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
  void leave_schedule();
  void give_back_chunks(std::uint32_t chunks) {
    chunks_in_use -= chunks;
    budget->chunks_in_use -= chunks;
  }

  // departure.cpp
  FlowBucket& bucket_of(FlowRecord& record, const ShapedClass& shaped, Instant now) const;
  void set_turn(FlowRecord& record, StoredPacket& stored) const;
  void commit(FlowRecord& record, StoredPacket& stored, Instant now);
  void commit_first(Backlog& backlog, Instant now);
  void pay_for_first(BacklogNumber number, Instant now);
  PacketHandle unlink_head(FlowNumber flow);
  PacketHandle pop(BacklogNumber number);
  PacketHandle unlink_in_round(BacklogNumber number);
  PacketHandle unlink_head_of(BacklogNumber number);
  void release_backlog(BacklogNumber number);
  void let_go(FlowNumber flow, Instant by, Instant now);
  void release_single(FlowNumber flow, Instant now, DuePacket& due);
  std::size_t release_run(FlowNumber flow, Instant now, Instant others, std::span<DuePacket> out);
  void hand_out(PacketHandle packet, DuePacket& due);
  std::size_t release_immediate(std::span<DuePacket> out);
  std::size_t complete_sent_of_class(std::span<const DuePacket> packets, Instant now);
  void complete_dropped(const DuePacket& packet, DropReason reason);

  // tree_departure.cpp
  bool make_place_in_tree(const FlowQueue& queue);
  void enqueue_in_tree(FlowNumber flow, PacketHandle packet);
  BacklogNumber backlog_in_tree(FlowNumber flow);
  void make_ready(FlowNumber flow);
  void join_round(ShapedClass& shaped, BacklogNumber number);
  std::size_t release_from_tree(Instant now, std::span<DuePacket> out);
  Instant caught_up(Instant departure, Instant now);
  BacklogNumber take_turn(ShapedClass& shaped, Instant now);
  void drop_what_must_go(ShapedClass& shaped, BacklogNumber number, Instant now);
  std::optional<DropReason> reason_to_go(ShapedClass& shaped, BacklogNumber number, Instant now);
  void note_departure(ShapedClass& shaped, BacklogNumber number, Instant now);
  void begin_turns(ShapedClass& shaped, const StoredPacket& first);
  void leave_rounds(Rounds where = Rounds::nowhere);
  void leave_round(ShapedClass& shaped, Rounds where);
  void leave_round_and_tree(ShapedClass& shaped, Rounds where);
  void note_event();

  // shaper_statistics.cpp
  std::string held_by(const ShapedClass& shaped, Instant now) const;
  std::string name_of(TreeNode node) const;

  // shaper_reconfigure.cpp
  PacketHandle take_out_packets(const Shaper::Change::Content& change);
  PacketHandle take_out_queue(FlowNumber flow);
  void erase_flows(const Shaper::Change::Content& change);
  void erase_flow(FlowNumber flow);
  void put_in_force(Shaper::Change::Content& change, Instant now);
  void readmit(PacketHandle packet, const Shaper::Reclassify& classify, const Shaper::GiveAway& give_away,
               std::vector<std::byte>& frame, Instant now);
  void readmit_to(FlowNumber flow, PacketHandle packet, bool was_remarked, Instant now);
  void enqueue_immediate(PacketHandle packet, ClassNumber class_number, Instant now);

  const std::shared_ptr<ShaperBudget> budget;
  const Duration idle;
  const std::size_t frame_prefix;
  const std::uint64_t hash_seed;
  FlowTable flows;

  ScheduleState* schedule = nullptr;
  ShapeNumber shape_number = kNoShape;
  bool suspended = false;           // no flow of it is in the wheel
  FlowNumber next_of_plans = 0;     // whose plan is looked up anew
  std::uint32_t plans_unseen = 0;   // how many flow records from there on, after a change of a member
  std::uint32_t plans_among = 0;    // of so many, when they were looked at last
  bool some_moved = false;          // some class has `moved`
  FlowNumber next_to_release = 0;   // by release_all(); all flows before it have no packets
  std::uint32_t chunks_in_use = 0;  // those that are set aside for frames that are lent among them
  std::size_t outstanding = 0;      // packets released but not completed

  std::unique_ptr<ShapeTree> tree;                    // null: no class is in one
  std::vector<std::unique_ptr<ShapedClass>> classes;  // by number; null: free
  std::vector<ClassNumber> class_numbers;             // by index
  ClassCounters unmatched;
  ClassCounters retired;  // of classes that a reconfiguration removed
  ScheduleShifts shifts;

  struct LeaseEnd {
    RatePlace place;
    Instant until;
    Rate after;
  };
  std::vector<LeaseEnd> leases;  // that end

  // Packets that a reconfiguration left without a shaped class: due at once, in order.
  PacketHandle immediate_head = kNoPacket;
  PacketHandle immediate_tail = kNoPacket;
  Instant immediate_since{};

  DropObserver* drop_observer = nullptr;
};

}  // namespace headgate
