// The heart: one leaky bucket per flow, released at exact times.
//
// Role      pure computation over flow table, buckets, packet pool and timing wheel. No thread, no clock, no file
//           descriptor, no allocation after construction and outside reconfigure().
// Thread    one owner (the drain thread); not thread-safe.
// Time      every call takes `now`; it must not go backwards between calls.
// Full      a bucket at capacity drops the arriving packet (queue_full); no packet memory: one of the longest queues
//           loses its last packets, or the arriving packet is dropped when its own queue is among them (pool_full), and
//           a queue of one packet never pays for another; no flow record for a new key: the packet is dropped
//           (flow_table_full), the flows that exist are unharmed.
// Capacity  is judged at the instant a packet arrived, by the schedule: what its bucket has let go by then does not
//           wait, and a packet that need not wait is never dropped for want of room. So drops depend on what arrives
//           when, not on batches or wake-ups. The predicted wait is exact for one rate; with two rates at once it is
//           the longer of the waits that each alone would cause, which may be less than the two together do.
//
// Invariants, checked by the property tests after each step:
//   1. received = sent + sum(dropped) + queued, per class and in total.
//   2. Packets of a flow leave in the order in which they were admitted.
//   3. Each departure conforms: no earlier than its ideal time, the generic cell rate algorithm's
//      t = max(arrival, t_last + cost / rate), for the packet rate and the bit rate at once.
//   4. A release that comes late does not move the ideal times of the packets behind it, as long as it is at most
//      kMaxCatchUp late; beyond that the schedule of the bucket shifts to now - kMaxCatchUp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "core/delay_histogram.hpp"
#include "core/drop_observer.hpp"
#include "headgate/clock.hpp"
#include "headgate/config.hpp"
#include "headgate/packet.hpp"
#include "headgate/statistics.hpp"

namespace headgate {

inline constexpr Duration kMaxCatchUp = std::chrono::milliseconds(10);

struct ShaperLimits {
  DataSize memory{64 * 1024 * 1024};  // packet memory, all of it allocated by the constructor
  std::uint32_t max_flows = 65'536;   // flow records
  std::uint8_t frame_prefix =
      0;  // bytes in front of each frame's memory that are kept and given back with it
  Duration idle =
      std::chrono::seconds(60);  // after so long without a packet, and at its full burst again, a flow may go
  // Where the large tables come from, at construction alone; outlives the shaper. Pages of 2 MB pay: with many flows
  // every packet touches memory that no translation cache holds.
  std::pmr::memory_resource* table_memory = std::pmr::get_default_resource();
};

// A packet whose time has come, out of its queue and on its way.
struct DuePacket {
  std::uint32_t handle = 0;  // for complete()
  std::uint32_t length = 0;  // bytes of the frame as stored, prefix and tag included
  Instant ideal{};           // when its bucket meant it to leave
  ClassIndex class_index = kUnmatched;
};

class Shaper {
 public:
  Shaper(const ShaperLimits& limits, std::vector<ClassConfig> classes, Instant now);
  ~Shaper();
  Shaper(const Shaper&) = delete;
  Shaper& operator=(const Shaper&) = delete;

  // Queues each packet in its flow's bucket or drops it, and counts it. The frames are copied: their slots may be given
  // back when this returns. Packets must belong to a shaped class (not kUnmatched, not a bypass class). A batch, so that
  // the cache misses of many flows overlap.
  void admit(std::span<const ArrivingPacket> packets, Instant now);

  // As admit(), but large frames are copied only by keep_lent(), which must come before their slots are given back: what
  // is completed until then is never copied.
  void admit_lent(std::span<const ArrivingPacket> packets, Instant now);
  void keep_lent();
  bool lends() const;  // some frame that was admitted so is neither completed nor copied

  // Takes out the packets due by `now`, in order of ideal time, at most out.size(). They count as queued until
  // complete() says what became of them; every packet taken must be completed before the next release(), admit() or
  // reconfigure().
  std::size_t release(Instant now, std::span<DuePacket> out);

  // The parts of a released packet's frame, in order, as many as needed (see kMaxFrameParts). Valid until complete().
  std::size_t frame_parts(const DuePacket& packet, std::span<std::span<const std::byte>> parts) const;

  std::size_t frame_prefix() const;  // ShaperLimits::frame_prefix

  // Ends packets that release() or release_all() gave: sent, or dropped for `reason`. `now` ends their delay, too.
  void complete_sent(std::span<const DuePacket> packets, Instant now);
  void complete_dropped(std::span<const DuePacket> packets, DropReason reason);

  // When the next packet is due: exact; in the past when packets are overdue. None: nothing is queued.
  std::optional<Instant> next_release() const;

  // For a stop: takes out what is queued regardless of rates, in order within each flow. complete() as usual.
  std::size_t release_all(std::span<DuePacket> out);

  // Packets that are sent without shaping: bypass classes and kUnmatched. Counts only.
  void count_unshaped(ClassIndex class_index, Count received, Count sent, Count send_failed);

  // A packet of a class that was dropped before it could be admitted (clipped).
  void count_dropped(ClassIndex class_index, Count dropped, DropReason reason);

  // Shows each packet that the shaper drops by itself, before it is gone. Null: to nobody.
  void observe_drops(DropObserver* observer);

  // Puts `classes` in force from the next packet on. A class is known by its name: where it stays, counters stay; where
  // also its key (and bypass) stay, flows and queues stay and a new rate, burst or capacity holds from the next packet
  // on. What waits in a class that is gone, or is keyed or bypassed anew, is classified by `classify` (frame with its
  // tag as stored; fills class_index, key, flow_hash of the packet it is given) and admitted again in order of arrival,
  // above capacity if need be; only for want of a flow record is one dropped. It counts as received by the class that
  // takes it and no longer by the one it left. Packets that no shaped class takes any more are due at once: release them
  // before others of their classes are sent. What the new rate does not touch is the packet whose turn is next: its time
  // was set by the one before it.
  // Strong: throws nothing but std::bad_alloc, and then nothing has changed. Takes time in proportion to the flow
  // records ever in use when a class goes or is keyed anew.
  using Reclassify = std::function<void(ArrivingPacket&)>;
  // Where several shapers share the flows of a shape: asked of each such packet that a shaped class takes, frame and
  // prefix as stored. True: it has been copied to go to the shaper that its flow belongs to, and is in no count of this
  // one any more. Must not throw.
  using Leaves = std::function<bool(const ArrivingPacket&)>;
  void reconfigure(std::vector<ClassConfig> classes, const Reclassify& classify, Instant now,
                   const Leaves& leaves = {});

  // Takes in a packet that left another shaper: as one that reconfigure() admits again, but for want of packet memory it
  // is treated as any arriving packet.
  void readmit(const ArrivingPacket& packet, Instant now);

  // Also forgets some of the flows whose time is over, so that `flows` falls when no traffic drives admit().
  ShaperStatistics statistics(Instant now);

  // The delays behind the classes' summaries, by class.
  std::vector<DelayCounts> delays(Instant now) const;

  // Looks at up to `records` flow records from position `from` on and calls `visit` for each in use of `class_index`.
  // Returns the position to go on from, or none at the end; so that a table of a million flows is read in small steps.
  std::optional<std::uint32_t> visit_flows(ClassIndex class_index, std::uint32_t from, std::uint32_t records,
                                           const std::function<void(const FlowStatistics&)>& visit) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Frames are stored in chunks; an Ethernet frame of 65 535 bytes and its virtio header need at most this many.
inline constexpr std::size_t kMaxFrameParts = 300;

}  // namespace headgate
