// Snapshots of the counters. The law that holds in each of them, per class and for the shape:
//     received = sent + sum(dropped) + queued
// What was lost before headgate received it (`lost`) stands apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/config.hpp"
#include "headgate/cost.hpp"
#include "headgate/drop_reason.hpp"
#include "headgate/flow_key.hpp"

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
  DivertMethod divert = DivertMethod::automatic;  // the method in use: tcx or clsact
  ShaperStatistics shaper;
  std::uint64_t lost_ring = 0;    // packets the kernel could not put in our full capture ring
  std::uint64_t lost_device = 0;  // packets that the divert device dropped before the ring
  UnshapedStatistics unshaped;
  HookCounts hooks;
  ShapeConfig config;  // what is in force
};

struct FlowStatistics {
  FlowKey key;
  Count sent;
  Count dropped;
  Count queued;
};

}  // namespace headgate
