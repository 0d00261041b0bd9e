// The configuration as values: what the file or the command line said, checked and with defaults filled in.
// See headgate.toml(5) for the grammar; daemon/config/config_file.hpp makes a Config of a file.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/units.hpp"
#include "vocabulary/budget.hpp"
#include "vocabulary/flow_key.hpp"
#include "vocabulary/network_set.hpp"
#include "vocabulary/plan_member.hpp"

namespace headgate {

enum class Direction : std::uint8_t { egress, ingress };

enum class DivertMethod : std::uint8_t { automatic, tcx, clsact };

// How a super-packet (GSO, GRO) is queued: cut by the kernel before, so that every packet is spaced; cut by headgate into
// pieces by the rate of its class (pipeline/super_packet.hpp); or whole. The last two with its virtio header, and charged as
// the packets it holds.
enum class Segmentation : std::uint8_t { precise, automatic, whole };

// How packets come to headgated: by a BPF ring buffer, into which they are copied on the interface's hook; or from the divert
// device, read by a packet ring of our own, or by libpcap, which carries no virtio header. Automatic: the first of these that
// the kernel has.
enum class CaptureMethod : std::uint8_t { automatic, bpf, ring, pcap };

// How departures are timed: by sleeping, with very little waiting awake; or awake before each, at the cost of up to
// most of a core while packets wait (linux/timer_waiter.hpp).
enum class Precision : std::uint8_t { normal, high };

// Of a class at least one of the two is set unless it is a bypass, fair, in a tree of rates or policed by a window. Both: a packet leaves when both
// allow it.
struct Rate {
  std::optional<PacketRate> packets;
  std::optional<BitRate> bits;
  bool operator==(const Rate&) const = default;
};

// What may leave at once after idle. Unset: no tolerance, packets are always spaced. `packets` goes with a packet rate
// (1 = a pure leaky bucket), `bytes` with a bit rate.
struct Burst {
  std::optional<std::uint64_t> packets;
  std::optional<DataSize> bytes;
  bool operator==(const Burst&) const = default;
};

// A packet is dropped when any of the limits that are set would be exceeded by queueing it.
struct QueueCapacity {
  std::optional<std::uint64_t> packets;
  std::optional<DataSize> bytes;
  std::optional<Duration> time;  // longest predicted wait of the packet that is to be queued
  bool operator==(const QueueCapacity&) const = default;
};

// What the link adds to each packet, for bit rates, as in tc-stab(8): a packet counts max(frame + overhead, mpu) bytes.
struct LinkLayer {
  std::int32_t overhead = 0;  // bytes, may be negative
  std::uint32_t mpu = 0;      // bytes
  bool operator==(const LinkLayer&) const = default;
};

// Shared by all that have a copy of the configuration; equal where the networks are.
struct NetworkSelector {
  std::shared_ptr<const NetworkSet> networks;  // null: any address
  bool operator==(const NetworkSelector& other) const {
    if (networks == other.networks) return true;
    return networks && other.networks && *networks == *other.networks;
  }
};

// Of the packet's firewall mark those bits that the mask has. `value` has no others.
struct MarkSelector {
  std::uint32_t value = 0;
  std::uint32_t mask = 0xffff'ffff;
  bool takes(std::uint32_t mark) const { return (mark & mask) == value; }
  bool operator==(const MarkSelector&) const = default;
};

// What a packet must have: all that is set holds.
struct Selectors {
  // Of the outermost IP header.
  std::uint64_t dscp = 0;  // the code points, bit n for n; 0: any
  NetworkSelector source;
  NetworkSelector destination;
  // What only the kernel knows; of each list any. Only with CaptureMethod::bpf.
  std::vector<MarkSelector> marks;   // empty: any mark
  std::vector<std::string> cgroups;  // paths below the root of cgroup v2, without a first "/"; empty: any
  bool operator==(const Selectors&) const = default;
};

// A place in a shape's tree of rates: link, groups, classes.
struct TreePlace {
  std::string parent;              // a group's name; empty: the link
  std::optional<BitRate> ceiling;  // never more than this
  std::string budget;              // the ceiling goes by it, from its floor up; empty: by none
  std::uint8_t priority = 3;       // 0 first, to kMaxPriority
  std::uint32_t weight = 1;        // of its parent's excess, among those of its priority; 1 … kMaxWeight
  bool operator==(const TreePlace&) const = default;
};

inline constexpr std::uint8_t kMaxPriority = 7;
inline constexpr std::uint32_t kMaxWeight = 10'000;

struct GroupConfig {
  std::string name;
  TreePlace place;
  bool operator==(const GroupConfig&) const = default;
};

enum class QueueManagement : std::uint8_t { none, codel };

// RFC 8289.
struct CodelConfig {
  Duration target = std::chrono::milliseconds(5);
  Duration interval = std::chrono::milliseconds(100);
  bool ecn = true;  // marks what says that it takes marks, rather than drop it
  bool operator==(const CodelConfig&) const = default;
};

// Whether what comes too fast waits, or does not go on as it is.
enum class ClassAction : std::uint8_t { shape, police };

// What a policed class judges its packets by. Windows are aligned: at whole lengths from the zero of the clock.
enum class Limiter : std::uint8_t {
  token_bucket,    // the rate and burst of the class
  fixed_window,    // so much in each window
  sliding_window,  // of the window before, as much as still lies in the last `length` if it came evenly
};

// One of the two limits is set.
struct WindowConfig {
  std::optional<std::uint64_t> packets;
  std::optional<DataSize> bytes;
  Duration length{};
  bool operator==(const WindowConfig&) const = default;
};

struct PoliceConfig {
  Limiter limiter = Limiter::token_bucket;
  WindowConfig window;                      // where it is a window
  std::optional<std::uint8_t> exceed_dscp;  // what exceeds is sent with this code point; unset: it is dropped
  bool operator==(const PoliceConfig&) const = default;
};

// The rate of single keys: of those whose address is in a network that is a member. Each of them has a bucket of its own, or
// all together have one.
struct PlanConfig {
  std::string name;
  Rate rate;           // at least one of the two is set
  std::string budget;  // the rate goes by it, from its floor up; empty: by none
  Burst burst;
  QueueCapacity queue;       // the class's, unless it is said
  bool together = false;     // one bucket, one queue and one flow record for all members
  std::string members_file;  // as configured; empty: none
  bool operator==(const PlanConfig&) const = default;
};

struct ClassConfig {
  std::string name;
  std::string match;    // pcap-filter(7); empty: everything
  Selectors selectors;  // beside the match: a packet must have both
  KeySpec key;          // all parts off: one bucket for the whole class
  Rate rate;
  Burst burst;
  QueueCapacity queue;
  bool bypass = false;  // counted, never shaped
  ClassAction action = ClassAction::shape;
  PoliceConfig police;   // where it is policed: no queue, outside of any tree
  bool control = false;  // takes control traffic too
  std::string budget;    // the rate goes by it, from its floor up; empty: by none
  LinkLayer link_layer;  // its shape's
  // Of the rates that its packets share with other classes, link and ceilings: the least. Its shape's.
  std::optional<BitRate> narrowest;

  TreePlace place;
  std::optional<BitRate> guarantee;             // within its link and its ceilings
  bool fair = false;                            // its flows have no rate of their own and take turns
  QueueManagement aqm = QueueManagement::none;  // of each flow
  CodelConfig codel;                            // where that is codel

  // With plans the key has one address: of the source or of the destination.
  std::vector<PlanConfig> plans;
  // With plans: of its rates and capacities, and theirs, the least. Its shape's.
  std::optional<PlanConfig> tightest;
  MemberList members;  // of the plans
  bool operator==(const ClassConfig&) const = default;
};

// Of a shape with a link rate the last class: it takes what no other does. No class of a file can have this name.
inline constexpr char kDefaultClassName[] = "(default)";

// What control traffic a shape lets go on unshaped, together. Neither set: all.
inline constexpr Rate kDefaultControlLimit{PacketRate{1000}, BitRate{1'000'000}};

struct ShapeConfig {
  std::string
      interface;  // a name; or a shell pattern (config/interface_pattern.hpp), then a template for instances
  std::string pattern;  // of an instance: the pattern that its interface matches; else empty
  Direction direction = Direction::egress;              // with forward_to: ingress
  std::string forward_to;                               // inline: where the packets leave; empty: not inline
  bool qdisc_bypass = false;                            // of what is sent on an interface: egress and inline
  Segmentation segmentation = Segmentation::automatic;  // see default_segmentation()
  CaptureMethod capture = CaptureMethod::automatic;
  Precision precision = Precision::normal;
  std::uint32_t workers = 1;  // threads that serve it: up to kMaxWorkers

  Rate control_limit = kDefaultControlLimit;  // beyond it control traffic is taken as any other

  // Link-layer accounting, in bytes, as in tc-stab(8): a packet costs max(frame + overhead, mpu, 1) where bytes are
  // counted. Of a super-packet, each of the packets it holds does.
  std::int32_t overhead = 0;  // kMinOverhead … kMaxOverhead
  std::uint32_t mpu = 0;      // up to kMaxMpu

  std::optional<BitRate> rate;      // the link's
  std::string budget;               // the link's rate goes by it, from its floor up; empty: by none
  std::vector<GroupConfig> groups;  // a parent may stand behind those that it is a parent of

  std::vector<ClassConfig> classes;  // the first that matches takes the packet
  bool operator==(const ShapeConfig&) const = default;
};

// Whether the order of its packets is decided when they leave, and not when they come. Such a shape has one worker.
inline bool has_tree(const ShapeConfig& shape) {
  const auto in_tree = [](const ClassConfig& one) {
    return one.place.ceiling || !one.place.parent.empty() || one.guarantee || one.fair ||
           one.aqm != QueueManagement::none;
  };
  return shape.rate || !shape.groups.empty() ||
         std::any_of(shape.classes.begin(), shape.classes.end(), in_tree);
}

// Whether several addresses have one bucket, wherever their hashes would put them. Such a shape has one worker.
inline bool has_plans_together(const ClassConfig& config) {
  return std::any_of(config.plans.begin(), config.plans.end(),
                     [](const PlanConfig& plan) { return plan.together; });
}
inline bool has_plans_together(const ShapeConfig& shape) {
  return std::any_of(shape.classes.begin(), shape.classes.end(),
                     [](const ClassConfig& one) { return has_plans_together(one); });
}

// The bounds of tc-cake(8).
inline constexpr std::int32_t kMinOverhead = -64;
inline constexpr std::int32_t kMaxOverhead = 256;
inline constexpr std::uint32_t kMaxMpu = 256;

inline constexpr std::uint32_t kMaxWorkers = 64;

inline constexpr std::size_t kMaxCgroups = 32;  // different ones that are in force at a time

inline constexpr char kDefaultControlPath[] = "/run/headgate/control.sock";
inline constexpr char kDefaultConfigPath[] = "/etc/headgate/headgate.toml";

struct DaemonConfig {
  DivertMethod divert = DivertMethod::automatic;
  std::uint32_t mark = 0x68670000;            // "hg": the firewall mark of packets that we send
  DataSize memory{64 * 1024 * 1024};          // packet memory of each shape, of all instances together
  std::uint32_t max_flows = 65'536;           // flow records of each shape, likewise
  Duration idle = std::chrono::seconds(60);   // a flow without packets for this long is forgotten
  std::string control = kDefaultControlPath;  // control socket
  std::uint32_t workers = 0;                  // for all shapes; 0: one a shape, at most one a processor
  std::string operators;  // the group whose members may change what is in force; empty: none
  bool operator==(const DaemonConfig&) const = default;
};

struct Config {
  DaemonConfig daemon;
  std::vector<BudgetConfig> budgets;
  std::vector<ShapeConfig> shapes;
  bool operator==(const Config&) const = default;
};

}  // namespace headgate
