// One shaped interface and direction: the shapers of its workers with their queues and counters, and what attaches them
// to the interface.
//
// The shapers live as long as the shape; each has its part of the memory and of the flow records. The attachment is replaced whenever the interface or something of ours on it
// has changed under it; in between the host is open and state() says why. Nothing that is queued is lost by that.
//
// Main thread. Construction takes no packet; start() diverts; stop() opens the host first, then sends what is queued.
// Destruction stops.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "core/shaper_reading.hpp"
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

  // Throws a sentence for the administrator when the interface cannot be shaped. An interface that is not there (yet)
  // is no error when `may_wait`: the shape attaches when it appears.
  void start(bool may_wait);
  void stop();

  // Classes from the next packet on; interface, maybe by another of its names, and direction must be the same. Returns
  // when they are in force.
  void reconfigure(const ShapeConfig& config);
  // Throws what reconfigure() would find wrong with the classes, and changes nothing.
  static void check_classes(const ShapeConfig& config);

  // Whether a link of this namespace matters here. When something has happened to one that does, or to any filter,
  // maintain() is to be called at once, and about once a second in any case: it opens the host when the attachment does
  // not work any more, and attaches anew when that is possible.
  bool concerns(const Link& link) const;
  void maintain(Netlink& netlink);

  // To be called about once a second. False: a thread has work and does not get on with it.
  bool check_progress();

  const ShapeConfig& config() const { return config_; }
  std::string title() const { return title_of(config_); }
  bool diverting() const { return attachment_ != nullptr && attachment_->diverting(); }
  // Why the host is open. While diverting: what is wrong all the same, mostly nothing.
  const std::string& state() const { return state_.empty() ? bypass_ : state_; }
  // Which interface it shapes, or would: by its name, and while nobody has that by the attachment. 0: none.
  int interface_index(Netlink& netlink) const;

  ShapeStatistics statistics();
  // The largest `limit` flows of a class, by packets sent, dropped and queued. Read in small steps.
  std::vector<FlowStatistics> largest_flows(ClassIndex class_index, std::size_t limit);

  // What happens to the packets of the tap's class goes into the tap, until it is closed. It is ended when the class is
  // no longer in force or the shape stops. Throws a sentence when that is not possible.
  void capture(const std::shared_ptr<PacketTap>& tap);
  std::size_t captures() const;  // that are not closed

 private:
  void attach();
  void drop_queued();
  std::string missing_interface(Netlink& netlink) const;  // empty: all there
  using ShaperRequest = std::function<void(Shaper& shaper, Instant now)>;
  bool call(std::size_t worker, ShaperRequest request);
  bool change_taps(const std::function<void(PacketTaps& taps)>& change);
  void remove_closed_taps();
  void try_to_attach();
  void end_attachment(const std::string& reason);
  std::string why_not_intact(Netlink& netlink) const;
  void watch_hooks();
  void resume();
  void note_bypass(const std::string& bypass);
  void open_since(const std::string& reason);
  bool switch_is_open() const;
  void log_openings();

  // Of the attachments that were; the present one's come on top.
  struct Losses {
    std::uint64_t ring = 0;
    std::uint64_t device = 0;
    UnshapedStatistics unshaped;
  };
  Losses losses() const;

  const DaemonConfig daemon_;
  const Attachment::Log log_;
  ShapeConfig config_;
  const std::uint64_t hash_seed_;
  std::shared_ptr<const Classifier> classifier_;
  MonotonicClock clock_;
  WorkerStates workers_;                    // the drain threads' while there is an attachment
  std::unique_ptr<Attachment> attachment_;  // none: the host is open
  bool running_ = false;                    // between start() and stop()
  std::string state_ = "not started";       // empty while diverting
  std::string bypass_;                      // what lets packets pass us by while diverting
  Losses past_losses_;
  std::uint64_t openings_logged_ = 0;
  bool open_switch_logged_ = false;
  std::vector<std::shared_ptr<PacketTap>> captures_;  // holds the memory of taps, so that it is freed here
  std::vector<ShaperReading> last_readings_;          // by worker
};

}  // namespace headgate
