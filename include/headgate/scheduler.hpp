// Who is served next, and when: a tree of rates, from a link over groups to classes, and in each class flows that take turns.
// For packets, requests, jobs: of an item the scheduler knows a handle of the caller's, a flow, and what it costs.
//
//     Scheduler scheduler({.rate = BitRate{100'000'000}, .classes = {{.weight = 3}, {.weight = 1}}});
//     if (!scheduler.enqueue(handle, {.of_class = 0, .name = client}, {.packets = 1, .bytes = size}, now)) refuse(handle);
//     while (const auto item = scheduler.dequeue(now))
//       item->verdict == Scheduler::Verdict::send ? send(item->handle) : drop(item->handle);
//     sleep until scheduler.next_event(), or until something is to be enqueued
//
// An item goes this way: it stands in its flow's queue, in order; when it is the first there and the flow's own rate lets it
// go, the flow takes turns with the others of its class; and the tree says which class sends.
//
// Flow       named by a number of the caller's, in a class. A rate of its own, in packets, in bits, or both, is that of ITU-T
//            I.371 (gcra.hpp): with no burst no two of its items are closer than the rate says, and what an item waits for its
//            turn the flow has lost. Flows of a class take turns by deficit round robin (Shreedhar, Varghese 1995); without a
//            rate of their own, new ones go first as in RFC 8290.
//            A flow that holds nothing is forgotten when others need its place, and only when it gains nothing by that: when
//            its burst is at hand again and CoDel remembers nothing of it.
// Class      has a guarantee, a ceiling, a priority and a weight; a group the latter three.
// Guarantee  Of the classes whose guarantee allows an item now, the one with the earliest deadline sends. It waits for the
//            link and for no ceiling. A guaranteed item leaves one item of the link after its deadline at the latest.
// Excess     Else, from the link down, the child that may send and whose priority comes first, and among those of one priority
//            by weight: start-time fair queueing (Goyal, Vin, Cheng 1996). What a guarantee let go costs no share.
// Bounds     In any time T the link sends at most rate × T + one item, and a class or group with a ceiling at most rate × T + 20
//            of its largest items, or of the link's, whichever take longer, + one, + one for each guaranteed class in it. That
//            is what it may make up for when others kept the link from it; who comes back has none of it. Over a long
//            time shares are those of a fluid, to 0.2 % of the link. All rates are exact, and none drifts.
// Drops      An item that the scheduler itself gives up comes back to the caller by dequeue(), like one that may leave, with
//            its reason in place of Verdict::send; so each handle that enqueue() took comes back once, by dequeue() or drain().
//            It comes when its turn comes, not before: what is too old in a flow that has to wait waits, too.
//            CoDel (RFC 8289) drops the first of a queue in which all waited too long; its target counts as at least one and a
//            half times what the item takes at its flow's own rate, as it always waits for the one before it.
// Late       A caller that asks late, or drains the first of a flow, finds what should have left meanwhile, up to `catch_up` ago;
//            so a timer that is late costs no rate. In the real time of such a caller the bounds hold with rate × catch_up more,
//            and items of a flow may be closer by as much. With a catch_up of 0 they hold always.
// Time       is the latest instant that was seen: a clock that goes back stands still. Instants lie within 73 years of the
//            clock's zero; what is beyond counts as that.
// Cost       enqueue(), dequeue(), drain(flow): O(log flows + depth of the tree × log nodes); dequeue() beside it a step for
//            each quantum of an item. A class that has nothing left takes a step for each flow that took turns in it.
// Memory     All is taken by the constructor: 32 bytes for each item, about 200 for each flow.
// Thread     none, and no lock: one caller at a time.
// Errors     The constructor throws std::invalid_argument, which names what is wrong with the tree, and std::bad_alloc. Nothing
//            else throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "headgate/answer.hpp"
#include "headgate/clock.hpp"
#include "headgate/cost.hpp"
#include "headgate/units.hpp"

namespace headgate {

class Scheduler {
 public:
  using Handle = std::uint64_t;
  using GroupNumber = std::uint32_t;  // place in Config::groups
  using ClassNumber = std::uint32_t;  // place in Config::classes

  static constexpr std::uint8_t kLastPriority = 7;
  static constexpr std::uint32_t kMostWeight = 10'000;
  static constexpr std::uint64_t kMostUnits = (1U << 25) - 1;  // packets and bytes of an item

  struct Group {
    std::optional<GroupNumber> parent = {};  // stands before it; none: the link
    std::optional<BitRate> ceiling = {};
    std::uint8_t priority = 3;  // 0 first, up to kLastPriority
    std::uint32_t weight = 1;   // up to kMostWeight
  };

  // Of each flow of a class. With both rates an item leaves when both allow it.
  struct FlowRate {
    std::optional<PacketRate> packets = {};
    std::optional<BitRate> bits = {};
    std::uint64_t burst_packets = 1;  // after idle so many leave at once
    DataSize burst{0};                // up to one item: none leaves at once
  };

  // What waits in each flow of a class. What would be beyond is refused.
  struct Queue {
    std::uint64_t items = 1000;
    std::optional<DataSize> bytes = {};
    std::optional<Duration> longest_wait = {};  // what has waited longer when its turn comes is dropped
  };

  struct Codel {
    Duration target = std::chrono::milliseconds(5);
    Duration interval = std::chrono::milliseconds(100);
  };

  struct Class {
    std::optional<GroupNumber> parent = {};  // none: the link
    std::optional<BitRate> guarantee =
        {};  // needs a link rate, and is within all ceilings above it with those of others
    std::optional<BitRate> ceiling = {};
    std::uint8_t priority = 3;  // 0 first, up to kLastPriority
    std::uint32_t weight = 1;   // up to kMostWeight
    FlowRate flow_rate = {};    // none: its flows share alike
    Queue queue = {};
    std::optional<Codel> codel = {};
    std::uint64_t quantum = 1514;  // bytes that a flow sends in a turn
  };

  struct Config {
    std::optional<BitRate> rate =
        {};  // of the link; none: only ceilings and the flows' own rates hold items up
    std::vector<Group> groups = {};
    std::vector<Class> classes = {};
    std::uint32_t max_items = 65'536;  // that wait at a time
    std::uint32_t max_flows = 4'096;   // that are known at a time
    Duration catch_up = std::chrono::milliseconds(10);
    std::uint64_t seed = 0;  // of the hash of flow names: a secret number where strangers choose them
  };

  struct Flow {
    ClassNumber of_class = 0;
    std::uint64_t name = 0;
    bool operator==(const Flow&) const = default;
  };

  enum class Verdict : std::uint8_t {
    send,
    too_old,    // dropped: it has waited longer than its queue allows
    congested,  // dropped by CoDel
  };

  struct Departure {
    Handle handle;
    Verdict verdict;
    Instant at;  // when it leaves: now, or earlier for a caller that is late; of a drop: now
  };

  explicit Scheduler(const Config& config);
  ~Scheduler();
  Scheduler(Scheduler&& other) noexcept;
  Scheduler& operator=(Scheduler&& other) noexcept;

  // Takes an item, or says why not: not_now, its flow's queue is full; too_many, it is larger than its queue or than kMostUnits,
  // so never; no_room, there are max_items items, or max_flows flows none of which may be forgotten; unknown, there is no such
  // class. An item costs at least a packet and a byte. Any handle will do, also one that is there already.
  Answer enqueue(Handle handle, const Flow& flow, const Cost& cost, Instant now);

  // The next item that leaves now or is dropped; none: nothing does before next_event(). To be called until it says so.
  std::optional<Departure> dequeue(Instant now);

  // When dequeue() may find an item: never later than it could, in the past when it would now. It may be early by what the link
  // or a ceiling holds up a flow that its own rate lets go. None: nothing is queued.
  std::optional<Instant> next_event() const;

  // Takes out an item without regard to rates, for a caller that ends: of each flow in order. None: nothing is queued. To call it
  // until then takes O(max_flows) in all.
  std::optional<Handle> drain();
  // The first of a flow, for a flow that ends.
  std::optional<Handle> drain(const Flow& flow);

  std::uint32_t items() const;  // that are queued
  std::uint32_t flows() const;  // that are known
  // What waits in a flow, and as how many items.
  Cost queued(const Flow& flow) const;
  std::uint32_t items(const Flow& flow) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace headgate
