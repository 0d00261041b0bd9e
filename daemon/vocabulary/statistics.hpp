// Snapshots of the counters. The law that holds in each of them, per class and for the shape:
//     received = sent + sum(dropped) + queued
// What was lost before headgate received it (`lost`) stands apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/delay_totals.hpp"
#include "vocabulary/drop_reason.hpp"
#include "vocabulary/flow_key.hpp"

namespace headgate {

struct Count {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;

  Count& operator+=(const Count& other) {
    packets += other.packets;
    bytes += other.bytes;
    return *this;
  }
  Count& operator-=(const Count& other) {
    packets -= other.packets;
    bytes -= other.bytes;
    return *this;
  }
  Count& operator+=(const Cost& cost) {
    packets += cost.packets;
    bytes += cost.bytes;
    return *this;
  }
  Count& operator-=(const Cost& cost) {
    packets -= cost.packets;
    bytes -= cost.bytes;
    return *this;
  }
  bool operator==(const Count&) const = default;
};

using DropCounts = std::array<Count, kDropReasonCount>;  // indexed by DropReason

inline Count total(const DropCounts& dropped) {
  Count sum;
  for (const Count& count : dropped) sum += count;
  return sum;
}

// Time that packets sent in the last 10 s spent in headgate, from capture to release. Zeros when none were sent.
struct DelaySummary {
  Duration p50{};
  Duration p99{};
  Duration max{};
};

struct ClassStatistics {
  std::string name;
  std::uint64_t flows = 0;  // flow records held
  Count received;
  Count sent;
  DropCounts dropped{};
  Count queued;
  DelaySummary delay;
  DelayTotals delays;
  // Of a class in the shape's tree.
  Count guaranteed;  // part of sent: what left by its guarantee; the rest was borrowed
  Count marked;      // part of sent: with "congestion experienced", set by its queue management
  Count remarked;    // part of sent, of a policed class: what exceeded and left with another code point
  std::string
      held_by;  // whose ceiling keeps its packets back now: a group's or its own name, "link"; empty: none does
  std::vector<std::uint32_t> members;  // of each of its plans, those of run time included
};

// How often a flow's schedule moved because a packet left later than can be caught up, and by how much in all.
struct ScheduleShifts {
  std::uint64_t times = 0;
  Duration total{};

  ScheduleShifts& operator+=(const ScheduleShifts& other) {
    times += other.times;
    total += other.total;
    return *this;
  }
  bool operator==(const ScheduleShifts&) const = default;
};

// What Shaper knows of one shape; counts of classes that a reload removed stay in the shape's totals.
struct ShaperStatistics {
  Count received;
  Count sent;
  DropCounts dropped{};
  Count queued;
  Count unmatched;  // part of received and sent: packets that no class matched, sent unshaped
  ScheduleShifts shifts;
  std::vector<ClassStatistics> classes;
};

// What the dead-man switch in the kernel let pass because nobody read or sent for too long; in no other count.
struct UnshapedStatistics {
  std::uint64_t packets = 0;
  std::uint64_t times = 0;  // how often the switch was open
  Duration open{};          // and for how long in all
};

// What the programs in the kernel decided themselves; in no other count. Super-packets count as the packets they hold,
// foreign ones as one.
struct HookCounts {
  Count unshapable;       // went on, for it cannot be taken out: tunnel metadata, decrypted by IPsec
  Count control_traffic;  // went on within its limit
  Count foreign;          // dropped on the divert device, for somebody else sent it there

  HookCounts& operator+=(const HookCounts& other) {
    unshapable += other.unshapable;
    control_traffic += other.control_traffic;
    foreign += other.foreign;
    return *this;
  }
};

// The whole of one shape, as shown.
struct ShapeStatistics {
  std::string interface;
  Direction direction = Direction::egress;
  bool diverting = false;                         // false: the host is open, `state` says why
  std::string state;                              // "" or a sentence
  bool starved = false;                           // its workers lately had too little processor time
  std::vector<std::string> limits;                // what is less here than it might be, a sentence each
  DivertMethod divert = DivertMethod::automatic;  // the method in use: tcx or clsact
  ShaperStatistics shaper;
  std::uint64_t lost_ring = 0;    // packets the kernel could not put in our full capture ring
  std::uint64_t lost_device = 0;  // packets that the divert device dropped before the ring
  UnshapedStatistics unshaped;
  HookCounts hooks;
  ShapeConfig config;  // what is in force
};

// A budget that this host shares: what it has of it, and what it was told.
struct BudgetStatistics {
  BudgetConfig config;
  std::string interface;  // of the shape that goes by it
  Direction direction = Direction::egress;
  BitRate want;
  std::optional<BitRate> rate;           // what holds now; none: all may pass
  std::optional<Duration> ends_in;       // the lease; none: there is none, what holds is for who is cut off
  std::optional<Duration> answered_ago;  // none: never
  struct Told {
    BitRate share;            // this host's, of what all want
    BitRate used;             // by all hosts together, the floors of those that are not there included
    std::uint32_t hosts = 0;  // that are there
    std::string bound;        // of the grant: "want", "share", "others", "learning", "hosts", "old"
    bool agreed = true;       // all hosts say the same of the budget
  };
  std::optional<Told> told;
  std::string trouble;  // why there was no answer the last time; empty: there was one
};

// An interface that matches a pattern and that the kernel, or what it is, does not let us shape.
struct UnshapedInterface {
  std::string interface;
  std::string reason;  // a sentence
  bool operator==(const UnshapedInterface&) const = default;
};

// A shape whose interface is a pattern: its instances together. The law holds here, too: what instances that are gone had
// queued counts as dropped.
struct PatternStatistics {
  // Sums, what ended instances counted included. `interface` is the pattern, `config` the template; `diverting`: there is
  // an instance, and all are. `state`: what is wrong, if anything is.
  ShapeStatistics sum;
  std::size_t diverting = 0;            // instances
  std::vector<std::string> interfaces;  // of its instances, in order of their names
  std::vector<UnshapedInterface> not_shaped;
};

struct FlowStatistics {
  FlowKey key;
  PlanNumber plan = kNoPlan;
  Count sent;
  Count dropped;
  Count queued;
};

}  // namespace headgate
