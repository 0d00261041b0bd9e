// A scheduler as it runs.
//
// A flow is always in one place of four: idle (it holds nothing), upcoming (its first item waits for the flow's rate), in its
// class's round, or nowhere (it is not known). A class is begun in the tree while flows of its round hold items.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "headgate/scheduler.hpp"
#include "limiters/flow_bucket.hpp"
#include "limiters/flow_names.hpp"
#include "limiters/flow_queues.hpp"
#include "limiters/indexed_heap.hpp"
#include "limiters/rate_tree.hpp"
#include "limiters/round.hpp"

namespace headgate {

class Scheduler::State {
 public:
  explicit State(const Config& config);

  Answer enqueue(Handle handle, const Flow& name, const Cost& cost, Instant now);
  std::optional<Departure> dequeue(Instant now);
  std::optional<Instant> next_event() const;
  std::optional<Handle> drain();
  std::optional<Handle> drain(const Flow& name);

  const FlowNames& names() const { return names_; }
  const FlowQueues& queues() const { return queues_; }

 private:
  using FlowNumber = std::uint32_t;

  // Of all flows of a class, as a FlowBucket takes them.
  struct FlowLimits {
    explicit FlowLimits(const FlowRate& rate);
    bool set() const { return packets.set() || bits.set(); }
    static std::uint64_t link_bytes(const Cost& cost) { return cost.bytes; }

    RateLimit packets;
    RateLimit bits;
  };

  struct RunningClass {
    RunningClass(const Class& class_config, TreeNode tree_node);

    Class config;
    FlowLimits limits;
    TreeNode node;
    Round round;
    std::uint32_t ready = 0;  // flows of the round that hold items
  };

  struct RunningFlow {
    FlowBucket bucket;
    Instant earliest{};             // while it holds items: when its rate lets the first go
    Instant left = Instant::min();  // when the last one left, or was given up
  };

  Instant settle(Instant now);
  RunningClass& class_of(FlowNumber flow) { return classes_[names_.class_of(flow)]; }

  // What comes.
  Answer refusal(const RunningClass& its_class, FlowNumber flow, const Cost& cost) const;
  FlowNumber find_or_add(FlowNumber known, const Flow& name);
  void begin(RunningClass& its_class, FlowNumber flow);

  // From place to place.
  void find_earliest(const RunningClass& its_class, FlowNumber flow);
  void wait_for_rate(FlowNumber flow);
  void release_upcoming();
  void join_round(RunningClass& its_class, FlowNumber flow);
  void begin_turns(RunningClass& its_class, FlowNumber flow);
  void pass_over(RunningClass& sender, FlowNumber flow);
  void advance(RunningClass& sender, FlowNumber flow);
  void end_if_none_is_ready(RunningClass& sender);
  void empty_round(RunningClass& sender);
  void retire(const RunningClass& its_class, FlowNumber flow);

  // What goes.
  std::optional<Verdict> reason_to_drop(const RunningClass& sender, FlowNumber flow);
  Departure drop(RunningClass& sender, FlowNumber flow, Verdict verdict);
  Departure send(const RateTree::Turn& turn, RunningClass& sender, FlowNumber flow);
  std::uint64_t bytes_behind(const RunningClass& sender, std::uint64_t bytes) const;
  Handle give_up_first(FlowNumber flow);
  Handle take_out(FlowNumber flow);

  Instant now_;  // the latest
  Duration catch_up_;
  TreeNode first_class_;
  RateTree rates_;
  std::vector<RunningClass> classes_;
  FlowNames names_;
  FlowQueues queues_;
  std::vector<RunningFlow> flows_;
  std::vector<Turn> turns_;
  IndexedHeap::Places places_;
  IndexedHeap upcoming_;    // by the time at which their rate lets them go
  IndexedHeap idle_;        // by the time from which they gain nothing by being forgotten
  FlowNumber drained_ = 0;  // flows before it hold nothing, while drain() is at it
};

}  // namespace headgate
