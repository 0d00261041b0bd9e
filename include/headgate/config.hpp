// The configuration as values: what the file or the command line said, checked and with defaults filled in.
// See headgate.toml(5) for the grammar; daemon/config/config_file.hpp makes a Config of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/flow_key.hpp"
#include "headgate/network_set.hpp"
#include "headgate/units.hpp"

namespace headgate {

enum class Direction : std::uint8_t { egress, ingress };

enum class DivertMethod : std::uint8_t { automatic, tcx, clsact };

// How a super-packet (GSO, GRO) is queued: cut by the kernel before, so that every packet is spaced; cut by headgate into
// pieces by the rate of its class (pipeline/super_packet.hpp); or whole. The last two with its virtio header, and charged as
// the packets it holds.
enum class Segmentation : std::uint8_t { precise, automatic, whole };

// Who reads the divert device: our own packet ring, or libpcap, which carries no virtio header.
enum class CaptureMethod : std::uint8_t { ring, pcap };

// How departures are timed: by sleeping, with very little waiting awake; or awake before each, at the cost of up to
// most of a core while packets wait (linux/timer_waiter.hpp).
enum class Precision : std::uint8_t { normal, high };

// Of a class at least one of the two is set unless it is a bypass. Both: a packet leaves when both allow it.
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

// What the outermost IP header must have: all that is set holds.
struct Selectors {
  std::uint64_t dscp = 0;  // the code points, bit n for n; 0: any
  NetworkSelector source;
  NetworkSelector destination;
  bool operator==(const Selectors&) const = default;
};

struct ClassConfig {
  std::string name;
  std::string match;    // pcap-filter(7); empty: everything
  Selectors selectors;  // beside the match: a packet must have both
  KeySpec key;          // all parts off: one bucket for the whole class
  Rate rate;
  Burst burst;
  QueueCapacity queue;
  bool bypass = false;   // counted, never shaped
  bool control = false;  // takes control traffic too
  LinkLayer link_layer;  // its shape's
  bool operator==(const ClassConfig&) const = default;
};

// What control traffic a shape lets go on unshaped, together. Neither set: all.
inline constexpr Rate kDefaultControlLimit{PacketRate{1000}, BitRate{1'000'000}};

struct ShapeConfig {
  std::string interface;
  Direction direction = Direction::egress;  // with forward_to: ingress
  std::string forward_to;                   // inline: where the packets leave; empty: not inline
  bool qdisc_bypass = false;                // of what is sent on an interface: egress and inline
  Segmentation segmentation = Segmentation::precise;
  CaptureMethod capture = CaptureMethod::ring;
  Precision precision = Precision::normal;
  std::uint32_t workers = 1;  // threads that serve it: up to kMaxWorkers

  Rate control_limit = kDefaultControlLimit;  // beyond it control traffic is taken as any other

  // Link-layer accounting, in bytes, as in tc-stab(8): a packet costs max(frame + overhead, mpu, 1) where bytes are
  // counted. Of a super-packet, each of the packets it holds does.
  std::int32_t overhead = 0;  // kMinOverhead … kMaxOverhead
  std::uint32_t mpu = 0;      // up to kMaxMpu

  std::vector<ClassConfig> classes;  // the first that matches takes the packet
  bool operator==(const ShapeConfig&) const = default;
};

// The bounds of tc-cake(8).
inline constexpr std::int32_t kMinOverhead = -64;
inline constexpr std::int32_t kMaxOverhead = 256;
inline constexpr std::uint32_t kMaxMpu = 256;

inline constexpr std::uint32_t kMaxWorkers = 64;

inline constexpr char kDefaultControlPath[] = "/run/headgate/control.sock";
inline constexpr char kDefaultConfigPath[] = "/etc/headgate/headgate.toml";

struct DaemonConfig {
  DivertMethod divert = DivertMethod::automatic;
  std::uint32_t mark = 0x68670000;            // "hg": the firewall mark of packets that we send
  DataSize memory{64 * 1024 * 1024};          // packet memory of each shape
  std::uint32_t max_flows = 65'536;           // flow records of each shape
  Duration idle = std::chrono::seconds(60);   // a flow without packets for this long is forgotten
  std::string control = kDefaultControlPath;  // control socket
  std::uint32_t workers = 0;                  // for all shapes; 0: one a shape, at most one a processor
  bool operator==(const DaemonConfig&) const = default;
};

struct Config {
  DaemonConfig daemon;
  std::vector<ShapeConfig> shapes;
  bool operator==(const Config&) const = default;
};

}  // namespace headgate
