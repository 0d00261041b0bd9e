// What a policed class judges its packets by: the limiter that its configuration names. The state of each flow is in the
// flow's record, as a bucket (flow_bucket.hpp) or a window (flow_window.hpp).
//
// A clock that goes back stands still: packets are judged at the latest instant that the class has seen. The worker's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/bucket_parameters.hpp"
#include "core/flow_window.hpp"
#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Whether the state of flows goes on from one to the other: they are counted alike.
bool polices_alike(const ClassConfig& one, const ClassConfig& other);

class Policer {
 public:
  // Of a class whose action is to police.
  explicit Policer(const ClassConfig& config);

  // When a packet that came at `arrival` is judged.
  Instant judged_at(Instant arrival);

  bool conforms(const FlowBucket& state, const Cost& cost, Instant at) const;
  // The packet goes on, whether it conforms or not.
  void charge(FlowBucket& state, const Cost& cost, Instant at) const;

  // Whether a new flow in place of this one would be treated alike from `now` on.
  bool as_new(const FlowBucket& state, Instant now) const;

  // What exceeds is sent with this code point; none: it is dropped.
  std::optional<std::uint8_t> exceed_dscp() const { return exceed_dscp_; }

  // In place of `before`, which polices alike, and for the state of each of its flows.
  void go_on_from(const Policer& before, Instant now);
  void change(FlowBucket& state, const Policer& before) const;

 private:
  std::uint64_t units(const Cost& cost) const;

  BucketParameters bucket_;  // of a window the link layer only
  std::optional<WindowLimit> window_;
  bool counts_bytes_ = false;  // the window does
  std::optional<std::uint8_t> exceed_dscp_;
  Instant latest_ = Instant::min();
};

}  // namespace headgate
