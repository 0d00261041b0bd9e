// A class as the shaper runs it.
#pragma once

#include <cstdint>
#include <utility>

#include "core/delay_histogram.hpp"
#include "core/leaky_bucket.hpp"
#include "headgate/config.hpp"
#include "headgate/packet.hpp"
#include "headgate/statistics.hpp"

namespace headgate {

// The law: received = sent + sum(dropped) + queued.
struct ClassCounters {
  Count received;
  Count sent;
  DropCounts dropped{};
  Count queued;

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

struct ShapedClass {
  explicit ShapedClass(ClassConfig class_config)
      : config(std::move(class_config)), parameters(config.rate, config.burst, config.link_layer) {}

  ClassConfig config;
  BucketParameters parameters;
  std::uint16_t generation = 0;  // counts changes of the parameters
  ClassIndex index = kUnmatched;
  std::uint64_t flows = 0;
  ClassCounters counters;
  DelayHistogram delays;
};

}  // namespace headgate
