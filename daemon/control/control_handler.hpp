// Request line → reply line. No sockets, no threads: the daemon stands behind DaemonControl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_file.hpp"
#include "control/capture_stream.hpp"
#include "control/live_requests.hpp"
#include "pipeline/link_header.hpp"
#include "vocabulary/explanation.hpp"
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
  std::vector<BudgetStatistics> budgets;    // that something goes by
};

struct FlowsQuery {
  std::string interface;
  Direction direction = Direction::egress;
  std::string class_name;
  std::size_t limit = 0;
};

struct ExplainQuery {
  std::string interface;
  std::optional<Direction> direction;  // none: the one in which it is shaped; egress where it is in both
  std::vector<std::byte> frame;        // with an Ethernet header, also where the link has none
  std::uint32_t mark = 0;
};

// What it points to stays until the next change.
struct ExplainResult {
  const ShapeConfig* shape = nullptr;  // null: none of that interface and direction
  std::string state;                   // why the host is open
  LinkHeader link_header = LinkHeader::ethernet;
  std::optional<Explanation> explanation;     // none: refused
  std::string refusal;                        // a sentence
  std::vector<const ShapeConfig*> instead{};  // where there is none: those there are
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

// What the daemon lets the control socket do. Main thread; each call is answered within milliseconds.
class DaemonControl {
 public:
  virtual ~DaemonControl() = default;
  virtual DaemonStatus status() = 0;
  // The largest `limit` flows by sent + queued + dropped packets. None: no such class.
  virtual std::optional<std::vector<FlowStatistics>> flows(const FlowsQuery& query) = 0;
  // What would become of a packet. Changes nothing.
  virtual ExplainResult explain(const ExplainQuery& query) = 0;
  // The shapes as configured, templates of patterns among them, but no instances. Cheap: asks no worker.
  virtual std::vector<const ShapeConfig*> shapes() const = 0;

  // The rest changes what is in force. `who` is for the log.

  virtual ChangeResult reload(const std::string& who) = 0;
  virtual ChangeResult set(const SetRequest& request, const std::string& who) = 0;
  virtual ChangeResult limit(const LimitRequest& request, const std::string& who) = 0;
  virtual ChangeResult unlimit(const LimitRequest& request, const std::string& who) = 0;
  virtual ChangeResult try_text(const TryRequest& request, const std::string& who) = 0;
  virtual ChangeResult confirm(const std::string& who) = 0;
  virtual ChangeResult undo(const std::string& who) = 0;
  // Holds for each key from its next packet on. Survives a reload as long as the file says of the member what it said when it
  // was changed. Cheap: waits for no worker.
  virtual MemberResult change_member(const MemberChange& change, const std::string& who) = 0;

  virtual DiffResult diff() = 0;
  virtual SaveResult save() = 0;
  // Runs until the stream is destroyed.
  virtual CaptureResult capture(const CaptureQuery& query) = 0;
};

struct Reply {
  std::string line;                                 // ends with a newline
  std::shared_ptr<CaptureStream> stream = nullptr;  // what follows the line, if anything does
  // So many bytes come behind the request, and are answered by this; 0: none do, and the line is the reply.
  std::size_t body = 0;
  std::function<Reply(std::string body)> with_body = nullptr;
  bool close = false;  // behind the line: what comes behind the request is no request
};

// Who asks.
struct Requester {
  std::string name = "root";  // for the log
  bool may_change = true;     // or only look
};

// Never throws for bad input: every line gets a reply.
Reply handle_request(std::string_view line, DaemonControl& daemon, const Requester& requester = {});

}  // namespace headgate
