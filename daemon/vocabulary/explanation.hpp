// What would become of a packet that came now, and why: values from where it is decided to whoever asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/drop_reason.hpp"
#include "vocabulary/flow_key.hpp"
#include "vocabulary/packet.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

// What a class says of a packet: it takes it, or the first of its conditions that does not hold.
enum class ClassVerdict : std::uint8_t { takes, control, dscp, source, destination, mark, cgroup, match };
inline constexpr std::string_view kClassVerdictNames[] = {"takes",       "control", "dscp",   "source",
                                                          "destination", "mark",    "cgroup", "match"};

// What the program on the interface's hook does with it.
enum class HookVerdict : std::uint8_t {
  not_asked,        // Explanation::why_hook_is_not_asked
  open,             // it goes on: nothing is diverted at the moment
  own_packet,       // it goes on: its mark is that of packets that headgate has sent
  not_ip,           // it goes on
  control_traffic,  // it goes on, within the shape's limit
  unshapable,       // it goes on: it cannot be taken out of the kernel
  reader_dead,      // it goes on: the dead-man switch is open
  let_go,           // it goes on: its class shapes nothing, or there is none
  cut_first,        // it goes to the divert device, is cut or completed there, and copied for a worker
  taken_out,        // it is copied or redirected for a worker
};
inline constexpr std::string_view kHookVerdictNames[] = {
    "not_asked",  "open",        "own_packet", "not_ip",    "control_traffic",
    "unshapable", "reader_dead", "let_go",     "cut_first", "taken_out"};

enum class Fate : std::uint8_t {
  leaves,         // at once
  leaves_marked,  // at once, with the code point of what exceeds
  waits,
  dropped,
};
inline constexpr std::string_view kFateNames[] = {"leaves", "leaves_marked", "waits", "dropped"};

// What decides how long it waits.
enum class HeldBy : std::uint8_t {
  nothing,
  packet_rate,  // of its class or plan
  bit_rate,     // likewise
  ceiling,      // of what FlowOutlook::ceiling names
  turn,         // nothing holds its class back, but others may come first
};
inline constexpr std::string_view kHeldByNames[] = {"nothing", "packet_rate", "bit_rate", "ceiling", "turn"};

// Of a packet of a shaped class, by the flow that it is of.
struct FlowOutlook {
  bool known = false;         // else it would be the flow's first packet
  PlanNumber plan = kNoPlan;  // of the flow
  Count sent, dropped, queued;
  Count queued_in_class;
  std::optional<Rate> leased;  // of the flow's bucket, where its class or plan goes by a budget

  // Until the bucket lets a packet go that nothing waits in front of; zero: it would at once. None: there is no bucket.
  std::optional<Duration> bucket_opens_in;

  Fate fate = Fate::leaves;
  DropReason reason = DropReason::queue_full;  // where it is dropped
  Duration wait{};                             // until it leaves, or is dropped; at least so long
  bool wait_is_exact = true;                   // if nothing comes that goes before it
  HeldBy held_by = HeldBy::nothing;
  std::string ceiling;  // "link", a group's name or a class's
  std::optional<BitRate> ceiling_rate;
};

struct Explanation {
  HookVerdict hook = HookVerdict::not_asked;
  std::string why_hook_is_not_asked;  // a sentence
  Count charged;                      // as which it counts
  bool is_ip = true;
  bool keeps_control_limit = false;    // it is control traffic, and matches no class for that
  std::vector<ClassVerdict> verdicts;  // of the classes in order, up to the one that takes it
  ClassIndex class_index = kUnmatched;
  FlowKey key;                         // where the class is shaped, as what follows
  std::size_t worker = 0;              // of the shape's, which has the flow
  std::optional<FlowOutlook> outlook;  // none where it is not shaped
};

}  // namespace headgate
