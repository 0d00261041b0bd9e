// Request line → reply line. No sockets, no threads: the daemon stands behind DaemonControl.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_file.hpp"
#include "control/capture_stream.hpp"
#include "vocabulary/packet_event.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

struct DaemonStatus {
  std::string version;
  std::string config_path;  // empty: configured on the command line
  std::int64_t pid = 0;
  Duration uptime{};
  std::vector<std::string> kernel_lacks;    // and what follows from it, a sentence each
  std::vector<ShapeStatistics> shapes;      // instances of patterns among them
  std::vector<PatternStatistics> patterns;  // in order of the configuration
};

struct FlowsQuery {
  std::string interface;
  Direction direction = Direction::egress;
  std::string class_name;
  std::size_t limit = 0;
};

struct CaptureQuery {
  std::string interface;
  Direction direction = Direction::egress;
  std::string class_name;
  PacketEventSet events{};
};

struct CaptureResult {
  std::shared_ptr<CaptureStream> stream;  // null: refused
  std::string refusal;                    // why
};

// What plan a member has from now on.
struct MemberChange {
  std::string interface;  // of a pattern: the pattern itself; then of all its instances
  Direction direction = Direction::egress;
  std::string class_name;
  Prefix member;
  PlanNumber plan = kNoPlan;  // none: it is a member no more
};

struct MemberResult {
  bool ok = false;
  PlanNumber before = kNoPlan;  // that it was a member of
  std::string refusal;          // a sentence
};

struct ReloadResult {
  bool ok = false;
  std::vector<std::string> messages;  // errors with their places, or what changed
};

// What the daemon lets the control socket do. Main thread; each call is answered within milliseconds.
class DaemonControl {
 public:
  virtual ~DaemonControl() = default;
  virtual DaemonStatus status() = 0;
  // The largest `limit` flows by sent + queued + dropped packets. None: no such class.
  virtual std::optional<std::vector<FlowStatistics>> flows(const FlowsQuery& query) = 0;
  virtual ReloadResult reload() = 0;
  // The shapes as configured, templates of patterns among them, but no instances. Cheap: asks no worker.
  virtual std::vector<const ShapeConfig*> shapes() const = 0;
  // Holds for each key from its next packet on. Survives a reload as long as the file says of the member what it said when it
  // was changed. Cheap: waits for no worker.
  virtual MemberResult change_member(const MemberChange& change) = 0;
  // Runs until the stream is destroyed.
  virtual CaptureResult capture(const CaptureQuery& query) = 0;
};

struct Reply {
  std::string line;                       // ends with a newline
  std::shared_ptr<CaptureStream> stream;  // what follows the line, if anything does
};

// Never throws for bad input: every line gets a reply.
Reply handle_request(std::string_view line, DaemonControl& daemon);

}  // namespace headgate
