// One shaped interface and direction: the shaper with its queues and counters, and what attaches it to the interface.
//
// Main thread. Construction makes everything but takes no packet; start() diverts; stop() opens the host first, then
// sends what is queued. Destruction stops.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "headgate/config.hpp"
#include "headgate/statistics.hpp"
#include "linux/netlink.hpp"

namespace headgate {

class Shape {
 public:
  // Throws a sentence for the administrator. `log` gets what is worth a line; called by any thread.
  Shape(const DaemonConfig& daemon, const ShapeConfig& config, Attachment::Log log);
  ~Shape();
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;

  void start();
  void stop();

  // Classes from the next packet on; interface and direction must be the same. Returns when they are in force.
  void reconfigure(const ShapeConfig& config);
  // Throws what reconfigure() would find wrong with the classes, and changes nothing.
  static void check_classes(const ShapeConfig& config);

  // Whether a link of this namespace matters here. When something has happened to one that does, recheck_links() looks
  // how they are by now, and opens the host when the shape cannot work any more.
  bool uses_link(int index) const;
  void recheck_links(Netlink& netlink);

  // To be called about once a second. False: a thread has work and does not get on with it.
  bool check_progress();

  const ShapeConfig& config() const { return config_; }
  std::string title() const { return title_of(config_); }
  bool diverting() const { return attachment_.diverting(); }
  const std::string& state() const { return state_; }  // why the host is open; empty while diverting

  ShapeStatistics statistics();
  // The largest `limit` flows of a class, by packets sent, dropped and queued. Read in small steps.
  std::vector<FlowStatistics> largest_flows(ClassIndex class_index, std::size_t limit);

 private:
  void open_host(const std::string& reason);

  const Attachment::Log log_;
  ShapeConfig config_;
  const std::uint64_t hash_seed_;
  std::string state_ = "not started";
  MonotonicClock clock_;
  Shaper shaper_;
  Attachment attachment_;
  bool running_ = false;
  ShaperStatistics last_statistics_;
};

}  // namespace headgate
