// Who sends next under common limits: a tree of rates, from a link over groups to classes.
//
// Role      decides, and knows no packet: a class says how large its first packet is, next() says whose turn it is, sent()
//           charges what left. Pure computation: no thread, no clock, no memory taken after the constructor.
// Limits    The link and every node with a ceiling have an exact clock (ITU-T I.371, virtual scheduling). A packet charges all
//           clocks on its way to the link.
// 1. Guarantee  Of the classes whose guarantee's clock allows a packet, the one with the earliest deadline sends: the time at
//           which its packet would have left at the guaranteed rate alone. It waits for the link and for no ceiling: the
//           guarantees below a ceiling are in sum no more than it. What a guarantee did not use in a pause of up to a packet's
//           time is kept, up to a packet: that much earlier may it send, with the deadline it had anyway.
// 2. Excess  Else, from the link down, the child that has something to send, whose ceiling allows it, whose priority comes
//           first, and among those by weight: start-time fair queueing (Goyal, Vin, Cheng 1996), with a virtual time for each
//           parent and priority. Only this is charged there: what a guarantee sent costs no share.
// Time lost  While a node has something to send, a ceiling that would have allowed it while others sent does not lose that
//           time: up to kCreditPackets of its own packets, or of the link's, whichever take longer. A node that had nothing to
//           send has no such credit, nor has the link.
// Cost      next() and sent() take O(depth + log nodes), but for new tags once in some 2^34 bytes.
// Bounds    In any time T the link sends at most rate x T + one packet, a node with a ceiling at most rate x T + its credit + one
//           packet + one for each guaranteed class below it. A guaranteed packet leaves by its deadline + one packet of the
//           link. A packet is the largest so far, less than 2^25 bytes. A node may wait for one packet of each other child of
//           its parent and priority, of each guaranteed class, and for those of a priority before it: what a ceiling allows
//           meanwhile beyond its credit is lost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/gcra.hpp"
#include "headgate/units.hpp"
#include "limiters/indexed_heap.hpp"
#include "limiters/prefetch.hpp"

namespace headgate {

using TreeNode = std::uint32_t;
inline constexpr TreeNode kLink = 0;
inline constexpr TreeNode kNoNode = 0xffff'ffff;

struct TreeNodeConfig {
  TreeNode parent = kLink;           // stands before it; the link's own is not read
  std::optional<BitRate> ceiling;    // of the link: its rate
  std::optional<BitRate> guarantee;  // of a class: a node that is nobody's parent
  std::uint8_t priority = 3;         // 0 first, below RateTree::kPriorities
  std::uint32_t weight = 1;          // from 1 to 10 000
};

class RateTree {
 public:
  static constexpr unsigned kPriorities = 8;
  static constexpr unsigned kCreditPackets = 20;

  // The first node is the link. Throws std::bad_alloc.
  explicit RateTree(std::span<const TreeNodeConfig> nodes);

  // A class had nothing to send and now has a packet of so many bytes. False: next_event() is what it was before.
  bool begin(TreeNode node, std::uint64_t bytes, Instant now);
  // Its packets are gone, or may not go: by another way than sent().
  void end(TreeNode node);

  struct Turn {
    TreeNode node = kNoNode;  // none may send
    bool guaranteed = false;
    explicit operator bool() const { return node != kNoNode; }
  };
  // Whose packet leaves. Changes nothing that another call would see.
  Turn next(Instant now);

  // When the packet whose turn it is leaves: as soon as the link was free and had somebody to send, which for a caller that is
  // late may be before this very packet came. Without a link rate: at the time of the last clock that held it up, not before
  // `from`.
  Instant departure(const Turn& turn, Instant from, Instant now) const;

  // A packet of so many bytes has left at `departure`. Behind it stands one of `behind` bytes; 0: none does.
  void sent(const Turn& turn, std::uint64_t bytes, std::uint64_t behind, Instant departure, Instant now);

  // When next() may find someone, in the past when it would now. None: nobody has anything to send.
  std::optional<Instant> next_event() const;

  // For a node of a tree that takes the place of another: its clocks go on from where `before` stood there, but wait for no more
  // than the largest packet takes at their own rates. Nothing may have been begun here.
  void go_on_from(const RateTree& other, TreeNode before, TreeNode node, Instant now);

  // Another rate for a node that has a ceiling. As many bits as its clock is ahead by, it is ahead by at the new rate, so that no
  // change gives anything away. next_event() may be another one after it.
  void set_ceiling(TreeNode node, BitRate rate, Instant now);

  bool is_below(TreeNode node, TreeNode ancestor) const;  // or the ancestor itself

  // Fetches ahead what begin() of a class will touch.
  void prefetch(TreeNode node) const {
    prefetch_line(&nodes_[node]);
    prefetch_line(&nodes_[node].ceiling);
  }

  std::optional<BitRate> ceiling(TreeNode node) const {
    return nodes_[node].ceiling.set() ? std::optional(BitRate{nodes_[node].ceiling.rate}) : std::nullopt;
  }

  // Nobody has anything to send.
  bool idle() const { return nodes_[kLink].backlogged == 0; }
  // When a packet of a class leaves that comes at `now`, while nobody has anything to send.
  Instant departure_alone(TreeNode node, Instant now) const;

  // What holds a node back at `now`: the first closed clock on its way to the link.
  TreeNode held_by(TreeNode node, Instant now) const;

 private:
  // A rate's clock: when it allows the next packet.
  struct Clock {
    ExactTime time{kLongAgo, 0};
    std::uint64_t rate = 0;        // bits a second; 0: allows all
    std::uint64_t reciprocal = 0;  // 2^64 / rate, for time_of()
    std::int64_t credit = 0;       // time of kCreditPackets of the node's largest packets so far

    void set(std::uint64_t bits_per_second);
    bool set() const { return rate != 0; }
    std::int64_t opens() const { return rounded_up(time); }
    bool open(std::int64_t now) const { return opens() <= now; }
    ExactTime time_of(std::uint64_t bytes) const;
    // When this one opens if it is as many bits ahead as `was` at its rate.
    std::int64_t as_far_ahead_as(const Clock& was, std::int64_t now) const;
    void begin(std::int64_t now);
    // A departure so much after the clock opened does not set it back.
    void charge(std::uint64_t bytes, std::int64_t departure, std::int64_t may_lag);
  };
  static constexpr std::int64_t kLongAgo = -(std::int64_t{1} << 62);

  // Children of one priority that are ready, in order of their start tags.
  struct alignas(32) Ready {
    IndexedHeap by_start;
    std::uint64_t virtual_time = 0;
  };
  using Children = std::array<Ready, kPriorities>;

  // Where a node is: among its parent's ready children, or among those that wait for their ceiling.
  enum class Place : std::uint8_t { nowhere, ready, gate };

  // What each packet changes comes first, so that a node without a guarantee is little more than one line of the cache.
  struct alignas(64) Node {
    TreeNode parent = kLink;
    std::uint32_t children = 0;    // place among children_; of a class none
    std::uint32_t backlogged = 0;  // children that have something to send, in time or not; of a class itself
    // What it has to send that it may. Of a class: its first packet's bytes. Of a parent: a bit for each priority that has a
    // ready child.
    std::uint32_t offers = 0;
    std::uint32_t largest = 0;        // packet so far, of a parent's children, too
    std::uint32_t share_of_byte = 0;  // of virtual time: 2^28 / weight
    std::uint64_t finish = 0;         // tag of virtual time
    std::uint8_t priority = 0;
    Place place = Place::nowhere;
    bool in_time = false;    // its guarantee allows its packet: it is among deadlines_, not upcoming_
    std::int64_t early = 0;  // a packet may go so much before its guarantee's clock
    Clock ceiling;
    Clock guarantee;

    void see(std::uint32_t packet);
  };
  static_assert(sizeof(Node) == 128);

  bool has_guarantee(const Node& node) const { return node.guarantee.set(); }
  std::int64_t guarantee_opens(const Node& node) const { return node.guarantee.opens() - node.early; }
  Ready& siblings_of(const Node& node) { return children_[nodes_[node.parent].children][node.priority]; }
  bool somebody_may_send() const { return nodes_[kLink].offers != 0 || !deadlines_.empty(); }
  void see(TreeNode number, std::uint32_t packet);
  void begin_backlog(TreeNode number, std::int64_t now);
  void end_backlog(TreeNode number);
  void begin_guarantee(Node& node, std::int64_t now) const;
  void advance(std::int64_t now);
  void place(TreeNode number, std::int64_t now);
  void place_path(TreeNode number, std::int64_t now);
  void place_guarantee(TreeNode number, std::int64_t now);
  void make_ready(TreeNode number);
  void leave_ready(TreeNode number);
  void charge_share(TreeNode number, std::uint64_t bytes, std::int64_t now);
  [[gnu::cold, gnu::noinline]] void rebase(TreeNode parent, unsigned priority);

  std::vector<Node> nodes_;
  std::vector<Children> children_;  // the first is nobody's
  IndexedHeap::Places places_;      // among ready children, or in gates_
  IndexedHeap::Places guarantee_places_;
  IndexedHeap
      gates_;  // nodes that want to send and are held up by their ceiling, by the time at which it opens
  std::int64_t may_send_since_ =
      kLongAgo;            // that somebody may whenever the link is free; of the last such time
  IndexedHeap upcoming_;   // classes by the time at which their guarantee allows a packet
  IndexedHeap deadlines_;  // classes that it allows one, by its deadline
};

}  // namespace headgate
