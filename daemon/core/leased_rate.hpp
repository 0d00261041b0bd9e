// A rate of a shape that somebody else sets again and again, for a time each: a host's part of a budget that it shares with
// other hosts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/packet.hpp"

namespace headgate {

// Where in a shape a rate is.
struct RatePlace {
  enum class Kind : std::uint8_t {
    link,
    group,    // its ceiling
    ceiling,  // of a class
    bucket,   // of a class that has no key, and shapes
    plan,     // of a plan whose members are together
  };
  Kind kind = Kind::link;
  ClassIndex class_index = kUnmatched;  // of a ceiling, a bucket and a plan
  std::uint16_t group = 0;              // of a group: among TreeConfig::groups
  PlanNumber plan = kNoPlan;            // of a plan: among those of the class
  bool operator==(const RatePlace&) const = default;
};

struct LeasedRate {
  RatePlace place;
  Rate rate;                                               // a link and a group take its bits a second
  Instant until = Instant::max();                          // it holds before that
  Rate after;                                              // what holds from then on, until the next lease
  std::uint64_t serial = 0;                                // goes to *in_force once it holds
  std::shared_ptr<std::atomic<std::uint64_t>> in_force{};  // null: nobody asks
};

// What wanted to go through a rate so far, and what of it waits. Bytes as a bit rate counts them.
struct RateDemand {
  Cost received;
  Cost queued;
  bool operator==(const RateDemand&) const = default;
};

}  // namespace headgate
