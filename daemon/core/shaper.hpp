// The heart: one leaky bucket per flow, released at exact times.
//
// Role      the flows of one shape at one worker: flow table, buckets, classes, counters. Its packets and their turns are
//           in the worker's schedule (core/schedule.hpp), beside those of other shapes. Pure computation: no thread, no
//           clock, no file descriptor.
// Thread    constructor and prepare(): any. All else: the worker's, while in a schedule; not thread-safe.
// Time      every call takes `now`; it must not go backwards between calls, nor between those of the schedule.
// Full      a bucket at capacity drops the arriving packet (queue_full; starved when it was read too late); the shape's
//           packet memory used up: one of its longest queues loses its last packets, or the arriving packet is dropped
//           when its own queue is among them (pool_full), and a queue of one packet never pays for another; no flow
//           record for a new key: the packet is dropped (flow_table_full), the flows that exist are unharmed. No shape
//           pays for another, but shapers with one budget do: they are one shape's.
// Policing  a packet of a policed class is judged when it comes, at its arrival, and then leaves at once, behind what its
//           flow has queued; or it is dropped (policed). Capacities do not hold there.
// Capacity  is judged at the instant a packet arrived, by the schedule: what its bucket has let go by then does not
//           wait, and a packet that need not wait is never dropped for want of room. So drops depend on what arrives
//           when, not on batches or wake-ups. The predicted wait is exact for one rate; with two rates at once it is
//           the longer of the waits that each alone would cause, which may be less than the two together do.
// Tree      of a class in the shape's tree of rates (limiters/rate_tree.hpp) the capacity in packets and bytes is judged by what is
//           queued, and the time limit when a packet's turn comes (too_old), for the order of departures is not known before.
//           Its bucket, if it has one, and the tree are charged then; queue management drops or marks there (aqm).
//
// Invariants, checked by the property tests after each step:
//   1. received = sent + sum(dropped) + queued, per class and in total.
//   2. Packets of a flow leave in the order in which they were admitted.
//   3. Each departure conforms: no earlier than its ideal time, the generic cell rate algorithm's
//      t = max(arrival, t_last + cost / rate), for the packet rate and the bit rate at once.
//   4. A release that comes late does not move the ideal times of the packets behind it, as long as it is at most
//      kMaxCatchUp late; beyond that the schedule of the bucket shifts to now - kMaxCatchUp, which is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/delay_histogram.hpp"
#include "core/drop_observer.hpp"
#include "core/leased_rate.hpp"
#include "core/member_table.hpp"
#include "core/memory_area.hpp"
#include "headgate/clock.hpp"
#include "vocabulary/config.hpp"
#include "vocabulary/explanation.hpp"
#include "vocabulary/packet.hpp"
#include "vocabulary/statistics.hpp"

namespace headgate {

class Schedule;
struct ScheduleState;
struct ShaperBudget;
struct ShaperState;

inline constexpr Duration kMaxCatchUp = std::chrono::milliseconds(10);

// Which shape of a schedule; dense, and given anew once it is free.
using ShapeNumber = std::uint16_t;
inline constexpr ShapeNumber kNoShape = 0xffff;

struct ShaperLimits {
  DataSize memory{64 * 1024 * 1024};  // packets of this shape use at most so much
  std::uint32_t max_flows = 65'536;   // flow records
  std::uint8_t frame_prefix = 0;      // bytes in front of each frame that are kept with it
  // After so long without a packet, and at its full burst again, a flow may go.
  Duration idle = std::chrono::seconds(60);
  std::uint64_t hash_seed = 0;  // its classifiers'
  // Null: `memory` and `max_flows` are the shaper's own. Else they are those of all shapers with this budget, which must be
  // in the same schedule.
  std::shared_ptr<ShaperBudget> budget{};
};

// What the classes of a shape have in common: the link's rate, and groups. With neither, a class is in a tree only by its own
// keys: a ceiling, fair, or queue management.
struct TreeConfig {
  std::optional<BitRate> rate;
  std::vector<GroupConfig> groups;  // each stands behind its parent
};

// One for several shapers, of the `memory` and `max_flows` of `limits`.
std::shared_ptr<ShaperBudget> make_shaper_budget(const ShaperLimits& limits);

// A packet whose time has come, out of its queue and on its way.
struct DuePacket {
  std::uint32_t handle = 0;  // for complete_…()
  std::uint32_t length = 0;  // bytes of the frame as stored, prefix and tag included
  Instant ideal{};           // when its bucket meant it to leave
  ClassIndex class_index = kUnmatched;
  ShapeNumber shape = kNoShape;
};

class Shaper {
 public:
  // `memory` outlives it. Throws std::bad_alloc.
  Shaper(const ShaperLimits& limits, std::vector<ClassConfig> classes, MemorySource& memory,
         const TreeConfig& tree = {});
  ~Shaper();
  Shaper(const Shaper&) = delete;
  Shaper& operator=(const Shaper&) = delete;

  // In its schedule; kNoShape while it is in none.
  ShapeNumber number() const;
  std::size_t frame_prefix() const;  // ShaperLimits::frame_prefix

  // Copied: the frames' slots may be given back when admit() returns. Lent: not before Schedule::keep_lent(), which
  // copies the large ones; what is completed until then is never copied. First parts: PacketPool::kFirstPartBytes are
  // copied; Schedule::frame_parts() gives one part, in which anything follows them, and memory is counted as for whole frames.
  // For a simulation.
  enum class Frames : std::uint8_t { copied, lent, first_parts };

  // Gives a packet that has been classified the key of its plan, where the plan's members are together.
  void gather(ArrivingPacket& packet) const {
    if (gathers_) [[unlikely]]
      gather_by_plan(packet);
  }

  // Queues each packet in its flow's bucket or drops it, and counts it. Packets must belong to a shaped class (not
  // kUnmatched, not a bypass class) and be gathered. A batch, so that the cache misses of many flows overlap. Not while
  // suspended.
  void admit(std::span<const ArrivingPacket> packets, Instant now, Frames frames = Frames::copied);

  // From suspend() to resume() nothing of this shape is due, and admit() must not be called. Its queues stay, and
  // everything else works. What was due meanwhile is due at the `now` of resume(). Takes time in proportion to the flow
  // records ever in use, and to what is scheduled of all shapes.
  void suspend();
  void resume(Instant now);

  // For a stop: takes out what is queued of this shape regardless of rates, in order within each flow. To be completed
  // as usual. Suspends the shape.
  std::size_t release_all(std::span<DuePacket> out);

  // Drops all that is queued of this shape.
  void drop_all(DropReason reason);

  // Packets that are sent without shaping: bypass classes and kUnmatched. Counts only.
  void count_unshaped(ClassIndex class_index, Count received, Count sent, Count send_failed);

  // A packet of a class that was dropped before it could be admitted (clipped).
  void count_dropped(ClassIndex class_index, Count dropped, DropReason reason);

  // Shows each packet that the shaper drops by itself, before it is gone. Null: to nobody.
  void observe_drops(DropObserver* observer);

  // All that a reconfiguration allocates; after it, all that it leaves to be freed.
  class Change {
   public:
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    friend class Shaper;
    friend struct ShaperState;
    Change();
    struct Content;
    std::unique_ptr<Content> content_;
  };

  // Any thread, also while the worker runs, but not during reconfigure(): it reads only what that writes. Throws
  // std::bad_alloc.
  // No other Change may be put in force between this and the reconfigure() that takes it.
  std::unique_ptr<Change> prepare(std::vector<ClassConfig> classes, const TreeConfig& tree = {}) const;

  // Puts the classes of `change` in force from the next packet on. A class is known by its name: where it stays, counters
  // stay; where also its key, its action (and bypass), and how a limiter counts stay, flows and queues stay and a new
  // rate, burst, limit or capacity holds from the next packet on. What waits in a class that is gone, or is keyed, limited or bypassed anew, is classified by `classify` (frame
  // with its tag as stored; fills class_index, key, flow_hash of the packet it is given; must not throw) and admitted
  // again in order of arrival, above capacity if need be; it is dropped only for want of a flow record or, when the host
  // has no more, of memory to queue it. It counts as received by the class that takes it and no longer by the one it left. A class that
  // polices does not judge it, but charges it.
  // Packets that no shaped class takes any more are due at once: release them before others of their classes are sent.
  // What the new rate does not touch is the packet whose turn is next: its time was set by the one before it.
  // Takes time in proportion to the flow records ever in use when a class goes, is keyed anew or polices
  // otherwise.
  using Reclassify = std::function<void(ArrivingPacket&)>;
  // Where several shapers share the flows of a shape: asked of each such packet that a shaped class takes, frame and
  // prefix as stored. True: it has been copied to go to the shaper that its flow belongs to, and is in no count of this
  // one any more. Must not throw.
  using GiveAway = std::function<bool(const ArrivingPacket&)>;
  void reconfigure(Change& change, const Reclassify& classify, Instant now,
                   const GiveAway& give_away = {}) noexcept;

  // Takes in a packet that another shaper gave away, as one that reconfigure() admits again. Only where packet memory
  // is short it is treated as any arriving packet.
  void readmit(const ArrivingPacket& packet, Instant now);

  // A member of a class's plans: which it belongs to from now on, with kNoPlan to none.
  struct MemberUpdate {
    Member member;
    // The only one that flows of the member can have, and its hash. With none, the flow records are looked through, some with
    // each batch of packets.
    std::optional<FlowKey> key;
    std::uint32_t hash = 0;
    // Where the class's table has no room for one more: a larger one with the other members, in exchange for which that is
    // left here.
    std::unique_ptr<MemberTable> table;
  };
  // The class has plans. What waits first keeps its time, as with a new rate; capacities hold from the next packet on. What
  // waits goes on with its address into the queue of a plan whose members are together, and out of it, above capacity if need
  // be: before the next packet is admitted.
  void change_member(ClassIndex class_index, MemberUpdate& update, Instant now);

  // Another rate for a place that has one, until its time is over (Schedule::end_leases()) or the next lease or reconfigure()
  // comes. The packet whose turn is next keeps its time; what was used of a burst stays used.
  void lease(const LeasedRate& lease, Instant now);
  RateDemand demand(const RatePlace& place) const;

  std::optional<ClassIndex> find_class(std::string_view name) const;

  // Also forgets some of the flows whose time is over, so that `flows` falls when no traffic drives admit().
  ShaperStatistics statistics(Instant now);

  // The delays behind the classes' summaries, by class.
  std::vector<DelayCounts> delays(Instant now) const;

  // What would become of a packet of a shaped class that came at `now`, its arrival; in a schedule. Changes nothing. Takes
  // time in proportion to what waits in its flow and may leave by now.
  FlowOutlook explain(const ArrivingPacket& packet, Instant now) const;

  // Looks at up to `records` flow records from position `from` on and calls `visit` for each in use of `class_index`.
  // Returns the position to go on from, or none at the end; so that a table of a million flows is read in small steps.
  std::optional<std::uint32_t> visit_flows(ClassIndex class_index, std::uint32_t from, std::uint32_t records,
                                           const std::function<void(const FlowStatistics&)>& visit) const;

 private:
  friend class Schedule;
  [[gnu::noinline]] void gather_by_plan(ArrivingPacket& packet) const;

  std::unique_ptr<ShaperState> state_;
  bool gathers_ = false;  // some plan has its members together
};

// Frames are stored in chunks; an Ethernet frame of 65 535 bytes and its virtio header need at most this many.
inline constexpr std::size_t kMaxFrameParts = 300;

}  // namespace headgate
