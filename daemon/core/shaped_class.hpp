// A class as the shaper runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/bucket_parameters.hpp"
#include "core/class_plans.hpp"
#include "core/delay_histogram.hpp"
#include "core/flow_table.hpp"
#include "core/policer.hpp"
#include "core/turn_table.hpp"
#include "limiters/prefetch.hpp"
#include "limiters/rate_tree.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/packet.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

// The law: received = sent + sum(dropped) + queued.
struct ClassCounters {
  Count received;
  Count sent;
  Count queued;
  DropCounts dropped{};

  Count& dropped_for(DropReason reason) { return dropped[static_cast<std::size_t>(reason)]; }
  ClassCounters& operator+=(const ClassCounters& other) {
    received += other.received;
    sent += other.sent;
    for (std::size_t i = 0; i < kDropReasonCount; ++i) dropped[i] += other.dropped[i];
    queued += other.queued;
    return *this;
  }
};

// A class keeps its number through reconfigurations; flows and packets refer to numbers, callers to indices.
using ClassNumber = std::uint16_t;
inline constexpr ClassNumber kNoClass = 0xffff;  // of packets that are sent unshaped

// Of the buckets that make its packets wait: none where they are policed.
inline BucketParameters bucket_parameters(const ClassConfig& config) {
  const Rate rate = config.action == ClassAction::police ? Rate{} : config.rate;
  return BucketParameters(rate, config.burst, config.link_layer);
}

// What every packet needs comes first, so that little of it need be fetched.
struct alignas(64) ShapedClass {
  explicit ShapedClass(ClassConfig class_config)
      : plans(make_class_plans(class_config)),
        parameters(bucket_parameters(class_config)),
        config(std::move(class_config)) {
    set_policer();
  }

  Round round;              // in a tree: its flows that their buckets let go
  std::uint32_t ready = 0;  // of these, those that have packets
  TreeNode node = kNoNode;  // in the shape's tree
  std::uint64_t flows = 0;
  std::uint16_t generation = 0;  // counts changes of the parameters
  ClassIndex index = kUnmatched;
  bool polices = false;  // there is a policer
  std::unique_ptr<ClassPlans> plans;
  alignas(64) Count guaranteed;  // in a tree, part of sent: what its guarantee let go; the rest was borrowed
  ClassCounters counters;
  Count marked;    // in a tree: sent with "congestion experienced", set here
  Count remarked;  // part of sent, when it is: what exceeded and goes on with another code point
  alignas(64) BucketParameters parameters;
  BucketParameters parameters_before;  // of the generation before
  ClassConfig config;
  DelayHistogram delays;
  std::optional<Policer> policer;
  std::optional<Policer> policer_before;  // while a change is put in force that keeps the flows
  bool plans_are_new = false;             // likewise
  const ClassPlans* plans_before = nullptr;
  bool moved = false;  // packets may wait in a flow that is not theirs any more (plans_together.cpp)

  bool in_tree() const { return node != kNoNode; }
  bool gathers() const { return plans && !plans->together.empty(); }
  bool has_buckets() const { return plans || parameters.packets.set() || parameters.bits.set(); }

  // What holds for a flow.
  bool has_plan(const FlowRecord& flow) const { return plans && flow.generation != kNoPlan; }
  const BucketParameters& parameters_of(const FlowRecord& flow) const {
    return has_plan(flow) ? plans->parameters[flow.generation] : parameters;
  }
  const QueueCapacity& queue_of(const FlowRecord& flow) const {
    return has_plan(flow) ? plans->queues[flow.generation] : config.queue;
  }
  // Of one that is new.
  std::uint16_t generation_of(const FlowKey& key) const { return plans ? plans->plan_of(key) : generation; }

  void set_policer() {
    polices = config.action == ClassAction::police && !config.bypass;
    policer.reset();
    if (polices) policer.emplace(config);
  }

  void prefetch() const {
    prefetch_line(&round);
    prefetch_line(&guaranteed);
    prefetch_line(&parameters);
    prefetch_line(&parameters.bits);
    prefetch_line(&config.queue);
  }
};

}  // namespace headgate
