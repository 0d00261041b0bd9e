// One shaped interface and direction: its shapers, one at each of its workers, with their queues and counters, and what
// attaches them to the interface.
//
// The shapers live as long as the shape; each has its part of the memory and of the flow records. The attachment is
// replaced whenever the interface or something of ours on it has changed under it; in between the host is open and state()
// says why. Nothing that is queued is lost by that.
//
// Main thread. Construction takes no packet; start() diverts; begin_stop() opens the host, stop() sends what is queued.
// Destruction stops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "core/classifier.hpp"
#include "core/shaper.hpp"
#include "core/shaper_reading.hpp"
#include "hook_notices.hpp"
#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

class CompiledMatches;

// Where the instances of a pattern are served: by the same workers, with one budget at each for all of them.
struct SharedSeats {
  std::vector<WorkerThread*> threads;
  std::vector<std::shared_ptr<ShaperBudget>> budgets;  // by thread
};
// What a shape may use at each of its workers.
ShaperLimits limits_of(const DaemonConfig& daemon, const ShapeConfig& config);

// By worker: the serial of the lease that it goes by.
using LeaseInForce = std::vector<std::shared_ptr<std::atomic<std::uint64_t>>>;

// What went through some places of a shape so far, as its workers tell.
struct PlaceDemands {
  bool are_there() const;                   // or the workers have not answered yet
  RateDemand sum(std::size_t place) const;  // of all workers; when they are there
  Instant read_at() const;                  // by them, in the mean

  struct OfPart {
    Instant read_at;
    std::vector<RateDemand> of_places;
  };
  std::vector<OfPart> of_parts;
  std::vector<std::future<void>> answers;
};

class Shape {
 public:
  // Throws a sentence for the administrator. `common`, `matches`, `workers` and `memory` outlive the shape. `log` gets what is
  // worth a line; called by any thread. `seats`: null, or those of all instances of the shape's pattern.
  Shape(SharedDivert& common, const DaemonConfig& daemon, const ShapeConfig& config, CompiledMatches& matches,
        WorkerSet& workers, MemorySource& memory, const CaptureShare& share, Attachment::Log log,
        const SharedSeats* seats = nullptr);
  ~Shape();
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;

  // Throws a sentence for the administrator when the interface cannot be shaped. An interface that is not there (yet)
  // is no error when `may_wait`: the shape attaches when it appears.
  void start(bool may_wait);
  // In two halves, so that many stop at the same time. What is queued is sent, unpaced, until `give_up`.
  void begin_stop();
  void stop(Instant give_up);

  // Other classes; interface and direction must be the same. prepare() does all that can fail, throws a sentence, and
  // changes nothing; it may be done again. put_in_force() hands what was prepared to the workers: it is in force, from each
  // worker's next packet on, however late that is. False: at `patience` some worker has not taken it yet.
  // Of many shapes, begin_put_in_force() of all comes first, so that the kernel is waited for once.
  void prepare(const ShapeConfig& config);
  void begin_put_in_force();
  void put_in_force();
  bool wait_until_in_force(Instant patience);

  // Whether a link of this namespace matters here. When something has happened to one that does, or to any filter,
  // maintain() is to be called at once, and look_after() about once a second in any case: it opens the host when the
  // attachment does not work any more, and attaches anew when that is possible. What the kernel refuses for a moment is
  // logged and tried again. look_after() logs what is new, too.
  bool concerns(const Link& link) const;
  void maintain(Netlink& netlink);
  void look_after(Netlink& netlink);

  // False: a worker has work and does not get on with it. That is no fault while one of its workers puts new classes in
  // force, which takes it seconds where many packets wait; but not for longer than kLongestChange.
  bool gets_on() const { return !attachment_ || attachment_->gets_on(); }
  bool takes_new_classes() const;
  static constexpr Duration kLongestChange = std::chrono::seconds(10);

  const ShapeConfig& config() const { return config_; }
  std::string title() const { return title_of(config_); }
  bool diverting() const { return attachment_ != nullptr && attachment_->diverting(); }
  // Why the host is open. While diverting: what is wrong all the same, mostly nothing.
  const std::string& state() const { return state_.empty() ? bypass_ : state_; }
  // All that is wrong, as statistics() tells it, but for workers that do not answer; empty: nothing.
  std::string trouble() const { return with_trouble(state_); }
  // Which interface it shapes, or would: by its name, and while nobody has that by the attachment. 0: none.
  int interface_index(Netlink& netlink) const;

  // Asked for of all shapes first, then read: a worker that does not answer is waited for once, until `patience`, and not
  // asked again before it has answered.
  void ask_for_statistics();
  ShapeStatistics statistics(Instant patience);
  // By worker, as last read by statistics(). With delays where the shape has several workers or is an instance.
  const std::vector<ShaperReading>& readings() const { return last_readings_; }
  // The largest `limit` flows of a class, by packets sent, dropped and queued. Read in small steps. None where the workers
  // do not answer in time, or have not taken the classes of the last reload, by which the keys are read.
  std::vector<FlowStatistics> largest_flows(const std::string& class_name, std::size_t limit);

  // What would become of a packet (shape_explanation.hpp). Throws a sentence: a worker does not answer, or has not taken the
  // classes of the last reload.
  Explanation explain(std::span<const std::byte> frame, std::uint32_t mark);

  // What plan a member of a class has from the workers' next packet on; no new classes are on their way (see prepare()).
  // `members`: how many the class has then; `all` names them.
  void change_member(const std::string& class_name, const Member& member, std::size_t members,
                     const std::function<std::vector<Member>()>& all);

  // A rate at all workers; `in_force` has each worker's serial. False: they have not taken the classes of the last reload yet.
  bool lease(LeasedRate rate, LeaseInForce& in_force);
  // Null: likewise.
  std::shared_ptr<const PlaceDemands> ask_for_demands(const std::vector<RatePlace>& places);

  // In config(), of each class whose members have been changed since it was put in force: `all`.
  void note_members(const std::function<std::vector<Member>(const ClassConfig&)>& all);

  // What happens to the packets of the tap's class goes into the tap, until it is closed. It is ended when the class is
  // no longer in force or the shape stops. Throws a sentence when that is not possible.
  void capture(const std::shared_ptr<PacketTap>& tap);
  LinkHeader link_header() const { return link_header_; }  // that a tap must have; another one ends it
  std::size_t captures() const;                            // that are not closed

 private:
  void attach();
  std::string missing_interface(Netlink& netlink) const;  // empty: all there
  bool is_in_force() const;
  void put_in_force_unattached(Reconfiguration& reconfiguration);
  using TapChange = std::function<void(PacketTaps& taps)>;
  std::vector<std::future<void>> change_taps(const TapChange& change);
  void remove_closed_taps(Instant patience);
  bool attempt(const std::function<void()>& action);
  void report();
  void let_go();
  void forget_past_cgroups();
  void note_cgroup_mount();
  void prepare_networks(std::vector<HookClass>& classes);
  bool captures_unshaped() const;
  void repair(Netlink& netlink);
  void try_to_attach();
  void end_attachment(const std::string& reason);
  void note_link_header();
  void note_wire();
  void remove_kept_wire() const;
  std::string why_not_intact(Netlink& netlink) const;
  void watch_hooks();
  void resume();
  void note_bypass(const std::string& bypass);
  void open_since(const std::string& reason);
  bool switch_is_open() const;
  std::string with_trouble(std::string state) const;
  std::string starvation() const;
  void log_starvation();
  void log_openings();

  // Of the attachments that were; the present one's come on top.
  struct Losses {
    std::uint64_t ring = 0;
    std::uint64_t device = 0;
    UnshapedStatistics unshaped;
    HookCounts hooks;
  };
  Losses losses() const;

  SharedDivert& common_;
  CompiledMatches& matches_;
  const CaptureShare share_;
  const Attachment::Log log_;
  ShapeConfig config_;
  const std::uint64_t hash_seed_;
  CgroupPlaces cgroups_;       // of the classes
  CgroupPlaces past_cgroups_;  // of those before, until all workers have the new ones
  std::shared_ptr<const Classifier> classifier_;
  std::vector<HookClass> hook_classes_;  // likewise, for the interface's hook
  bool lets_go_ = false;                 // by them, as far as that is possible
  bool takes_all_out_ = false;           // while others are put in force
  MonotonicClock clock_;
  ShapeParts parts_;
  std::unique_ptr<Attachment> attachment_;         // none: the host is open
  LinkHeader link_header_ = LinkHeader::ethernet;  // of the last attachment
  bool running_ = false;                           // between start() and stop()
  std::string state_ = "not started";              // empty while diverting
  std::string bypass_;                             // what lets packets pass us by while diverting
  Losses past_losses_;
  std::uint64_t openings_logged_ = 0;
  bool open_switch_logged_ = false;
  std::string starvation_logged_;
  bool no_cgroup_mount_logged_ = false;
  std::string trouble_;  // the last that attempt() met; empty: the last look_after() met none
  int wired_index_ = 0;  // the interface where the wire was laid last
  HookNotices hook_notices_;

  struct Capture {
    std::shared_ptr<PacketTap> tap;            // holds its memory, so that it is freed here
    std::vector<std::future<void>> removed{};  // by part, once it is closed
  };
  std::vector<Capture> captures_;

  struct Prepared {
    ShapeConfig config;
    CgroupPlaces cgroups;
    std::vector<HookClass> hook_classes;
    std::unique_ptr<Reconfiguration> reconfiguration;
  };
  std::optional<Prepared> prepared_;
  std::unique_ptr<Reconfiguration> reconfiguration_;  // the last one; a worker that is late may still read it
  std::future<void> in_force_;                        // until it is
  Instant handed_over_{};                             // when it was put in force

  struct AskedReading {
    std::shared_ptr<ShaperReading> reading;
    std::future<void> done;  // not valid: none is asked for
  };
  void ask_for_reading(std::size_t part);
  bool take_reading(std::size_t part, Instant patience);
  std::vector<AskedReading> asked_readings_;  // by part
  std::vector<ShaperReading> last_readings_;  // by part
  std::future<void> flows_read_;              // some of them, as last asked for
  std::vector<std::future<void>> explained_;  // by part, as last asked for

  // By class: how many members the shapers' tables have room for, where run time has made them larger.
  std::map<std::string, std::size_t> member_rooms_;
};

}  // namespace headgate
