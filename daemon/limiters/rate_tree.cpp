#include "limiters/rate_tree.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace headgate {
namespace {

constexpr unsigned kShareBits = 28;
constexpr std::uint64_t kNanosecondsOfAByte = 8'000'000'000;     // at one bit a second
constexpr std::uint64_t kVirtualStart = std::uint64_t{1} << 56;  // later than any packet's share
constexpr std::uint64_t kRebaseAt = std::uint64_t{1} << 62;

std::int64_t nanoseconds(Instant instant) {
  return instant.time_since_epoch().count();
}

std::int64_t first_key(const IndexedHeap& heap) {
  return heap.empty() ? std::numeric_limits<std::int64_t>::max() : heap.first().key;
}

std::uint64_t bits_of(const std::optional<BitRate>& rate) {
  return rate ? rate->bits_per_second : 0;
}

}  // namespace

void RateTree::Clock::set(std::uint64_t bits_per_second) {
  rate = bits_per_second;
  if (rate != 0) reciprocal = std::numeric_limits<std::uint64_t>::max() / rate;
}

// A division takes longer than all else that a packet's charge does. The product with the reciprocal is the quotient or one
// less: it lacks numerator / 2^64 at most, which is below 1/2.
ExactTime RateTree::Clock::time_of(std::uint64_t bytes) const {
  const std::uint64_t numerator = bytes * kNanosecondsOfAByte;  // less than 2^63 also for kCreditPackets
  auto quotient = static_cast<std::uint64_t>(static_cast<unsigned __int128>(numerator) * reciprocal >> 64);
  std::uint64_t remainder = numerator - quotient * rate;
  if (remainder >= rate) {
    remainder -= rate;
    ++quotient;
  }
  return {static_cast<std::int64_t>(quotient), remainder};
}

// Nothing has been sent for want of packets: that time is nobody's credit.
void RateTree::Clock::begin(std::int64_t now) {
  if (opens() < now) time = {now, 0};
}

void RateTree::Clock::charge(std::uint64_t bytes, std::int64_t departure, std::int64_t may_lag) {
  if (departure > opens()) departure -= may_lag;
  // A departure at the clock's time rounded up is one at that time: else each rounding would push it.
  if (departure > opens()) time = {departure, 0};
  const ExactTime own = time_of(bytes);
  time.nanoseconds += own.nanoseconds;
  time.remainder += own.remainder;
  if (time.remainder < rate) return;
  time.remainder -= rate;
  ++time.nanoseconds;
}

RateTree::RateTree(std::span<const TreeNodeConfig> configs)
    : nodes_(configs.size()), children_(1), places_(configs.size()), guarantee_places_(configs.size()) {
  std::size_t guarantees = 0;
  std::vector<std::array<std::size_t, kPriorities>> of_priority(1);
  for (TreeNode number = 0; number < nodes_.size(); ++number) {
    const TreeNodeConfig& config = configs[number];
    Node& node = nodes_[number];
    node.parent = config.parent;
    node.priority = config.priority;
    node.share_of_byte = (1U << kShareBits) / config.weight;
    node.ceiling.set(bits_of(config.ceiling));
    node.guarantee.set(bits_of(config.guarantee));
    guarantees += config.guarantee ? 1 : 0;
    if (number == kLink) continue;
    assert(config.parent < number && config.priority < kPriorities && config.weight > 0);
    Node& parent = nodes_[config.parent];
    if (parent.children == 0) {
      parent.children = static_cast<std::uint32_t>(children_.size());
      for (Ready& ready : children_.emplace_back()) ready.virtual_time = kVirtualStart;
      of_priority.emplace_back();
    }
    ++of_priority[parent.children][config.priority];
  }
  for (std::size_t i = 0; i < children_.size(); ++i)
    for (unsigned priority = 0; priority < kPriorities; ++priority)
      children_[i][priority].by_start.reserve(of_priority[i][priority]);
  gates_.reserve(nodes_.size());
  upcoming_.reserve(guarantees);
  deadlines_.reserve(guarantees);
}

// Flattened, as sent(): the calls of what they are cut into would cost them a tenth of their instructions.
[[gnu::flatten]] bool RateTree::begin(TreeNode number, std::uint64_t bytes, Instant instant) {
  const std::int64_t now = nanoseconds(instant);
  Node& node = nodes_[number];
  assert(bytes > 0 && node.offers == 0 && node.children == 0);
  const bool somebody = somebody_may_send();
  node.offers = static_cast<std::uint32_t>(bytes);
  see(number, node.offers);
  begin_backlog(number, now);
  if (has_guarantee(node)) begin_guarantee(node, now);
  place_guarantee(number, now);
  place_path(number, now);
  if (!somebody) may_send_since_ = now;
  return !somebody;
}

// Up to the first parent that has seen one as large: those above it have, too.
void RateTree::see(TreeNode number, std::uint32_t packet) {
  for (; packet > nodes_[number].largest; number = nodes_[number].parent) nodes_[number].see(packet);
}

void RateTree::Node::see(std::uint32_t packet) {
  largest = packet;
  for (Clock* clock : {&ceiling, &guarantee})
    if (clock->set()) clock->credit = clock->time_of(std::uint64_t{kCreditPackets} * packet).nanoseconds;
}

void RateTree::begin_backlog(TreeNode number, std::int64_t now) {
  for (;; number = nodes_[number].parent) {
    Node& node = nodes_[number];
    if (node.backlogged++ > 0) return;
    if (node.ceiling.set()) node.ceiling.begin(now);
    if (number == kLink) return;
  }
}

void RateTree::end_backlog(TreeNode number) {
  while (--nodes_[number].backlogged == 0 && number != kLink) number = nodes_[number].parent;
}

// What comes at a rate just above its guarantee is sent at once, in part as excess, so that the guarantee's clock opens while
// nothing waits. That time is kept for the next packet: or the part that counts as excess were larger than it is. A longer
// pause leaves nothing.
void RateTree::begin_guarantee(Node& node, std::int64_t now) const {
  const std::int64_t missed = now - node.guarantee.opens();
  if (missed <= 0) return;
  const std::int64_t packet = node.guarantee.time_of(node.largest).nanoseconds;
  node.early = missed > packet ? 0 : std::min(node.early + missed, packet);
  node.guarantee.begin(now);
}

void RateTree::end(TreeNode number) {
  assert(nodes_[number].offers != 0);
  nodes_[number].offers = 0;
  end_backlog(number);
  place_guarantee(number, 0);
  place_path(number, 0);
}

RateTree::Turn RateTree::next(Instant instant) {
  const std::int64_t now = nanoseconds(instant);
  if (!nodes_[kLink].ceiling.open(now)) return {};
  advance(now);
  if (!deadlines_.empty()) return {.node = deadlines_.first().number, .guaranteed = true};
  if (nodes_[kLink].offers == 0) return {};
  TreeNode number = kLink;
  while (nodes_[number].children != 0) {
    const auto priority = static_cast<unsigned>(std::countr_zero(nodes_[number].offers));
    number = children_[nodes_[number].children][priority].by_start.first().number;
  }
  return {.node = number};
}

// What time has let go since the last call.
void RateTree::advance(std::int64_t now) {
  const bool somebody = somebody_may_send();
  const std::int64_t first = std::min(first_key(gates_), first_key(upcoming_));
  while (first_key(gates_) <= now) place_path(gates_.first().number, now);
  while (first_key(upcoming_) <= now) place_guarantee(upcoming_.first().number, now);
  if (!somebody && first <= now) may_send_since_ = first;
}

Instant RateTree::departure(const Turn& turn, Instant from, Instant now) const {
  const Clock& link = nodes_[kLink].ceiling;
  if (link.set()) return std::min(now, Instant{Duration{std::max(link.opens(), may_send_since_)}});
  std::int64_t departure = nanoseconds(from);
  if (turn.guaranteed) {
    departure = std::max(departure, guarantee_opens(nodes_[turn.node]));
  } else {
    for (TreeNode each = turn.node; each != kLink; each = nodes_[each].parent)
      departure = std::max(departure, nodes_[each].ceiling.opens());
  }
  return std::min(now, Instant{Duration{departure}});
}

[[gnu::flatten]] void RateTree::sent(const Turn& turn, std::uint64_t bytes, std::uint64_t behind,
                                     Instant departure, Instant instant) {
  const std::int64_t now = nanoseconds(instant);
  const std::int64_t left = nanoseconds(departure);
  Clock& link = nodes_[kLink].ceiling;
  const std::int64_t credit_of_link = link.credit;  // before what stands behind counts
  Node& sender = nodes_[turn.node];
  sender.offers = static_cast<std::uint32_t>(behind);
  if (turn.guaranteed) sender.guarantee.charge(bytes, left, sender.guarantee.credit);
  see(turn.node, sender.offers);
  if (behind == 0) end_backlog(turn.node);
  for (TreeNode each = turn.node; each != kLink; each = nodes_[each].parent) {
    Node& node = nodes_[each];
    if (node.ceiling.set()) node.ceiling.charge(bytes, left, std::max(node.ceiling.credit, credit_of_link));
    if (turn.guaranteed)
      place(each, now);
    else
      charge_share(each, bytes, now);
  }
  if (link.set()) link.charge(bytes, left, 0);
  place_guarantee(turn.node, now);
}

// Start-time fair queueing: the virtual time is the latest start tag of a packet that was sent, and the tag of the next is
// the finish tag of this one. The node is ready, and then goes to where it belongs.
void RateTree::charge_share(TreeNode number, std::uint64_t bytes, std::int64_t now) {
  Node& node = nodes_[number];
  Ready& siblings = siblings_of(node);
  const auto start = static_cast<std::uint64_t>(siblings.by_start.key(places_, number));
  siblings.virtual_time = std::max(siblings.virtual_time, start);
  node.finish = start + bytes * node.share_of_byte;
  if (node.offers != 0 && node.ceiling.open(now))
    siblings.by_start.set_key(places_, number, static_cast<std::int64_t>(node.finish));
  else
    place(number, now);
  if (node.finish >= kRebaseAt) rebase(node.parent, node.priority);
}

// Tags are compared as numbers, so they begin anew before they are too large for that.
void RateTree::rebase(TreeNode parent, unsigned priority) {
  Ready& ready = children_[nodes_[parent].children][priority];
  const std::uint64_t by = ready.virtual_time - kVirtualStart;
  for (TreeNode number = 1; number < nodes_.size(); ++number) {
    Node& node = nodes_[number];
    if (node.parent == parent && node.priority == priority) node.finish -= std::min(node.finish, by);
  }
  ready.virtual_time = kVirtualStart;
  ready.by_start.lower_keys(static_cast<std::int64_t>(by));
}

// From a node up, as far as something changes for the parents.
void RateTree::place_path(TreeNode number, std::int64_t now) {
  while (number != kLink) {
    const Node& parent = nodes_[nodes_[number].parent];
    const bool offered = parent.offers != 0;
    place(number, now);
    if (offered == (parent.offers != 0)) break;
    number = nodes_[number].parent;
  }
}

// To where a node belongs: among its parent's ready children, among those that wait for their ceiling, or nowhere.
void RateTree::place(TreeNode number, std::int64_t now) {
  Node& node = nodes_[number];
  const Place before = node.place;
  node.place = node.offers == 0 ? Place::nowhere : node.ceiling.open(now) ? Place::ready : Place::gate;
  if (node.place == before) {
    if (before == Place::gate) gates_.set_key(places_, number, node.ceiling.opens());
    return;
  }
  if (before == Place::ready) leave_ready(number);
  if (before == Place::gate) gates_.remove(places_, number);
  if (node.place == Place::ready) make_ready(number);
  if (node.place == Place::gate) gates_.push(places_, number, node.ceiling.opens());
}

// A node joins at the virtual time, or up to a packet before it, each by another part. With one tag for all, nodes of one
// weight and one size of packets would send in a row for ever, and whoever's ceiling opens would wait for the whole row.
void RateTree::make_ready(TreeNode number) {
  const Node& node = nodes_[number];
  Ready& siblings = siblings_of(node);
  const std::uint64_t packet = std::uint64_t{node.largest} * node.share_of_byte;
  const std::uint64_t part = (number * 0x9e37'79b9U) >> 24;  // of 256: golden section
  const std::uint64_t start = std::max(node.finish, siblings.virtual_time - packet / 256 * part);
  siblings.by_start.push(places_, number, static_cast<std::int64_t>(start));
  nodes_[node.parent].offers |= 1U << node.priority;
}

void RateTree::leave_ready(TreeNode number) {
  const Node& node = nodes_[number];
  Ready& siblings = siblings_of(node);
  siblings.by_start.remove(places_, number);
  if (siblings.by_start.empty()) nodes_[node.parent].offers &= ~(1U << node.priority);
}

// To where a class with a guarantee belongs: by its deadline when it may send, else by the time at which it may.
void RateTree::place_guarantee(TreeNode number, std::int64_t now) {
  Node& node = nodes_[number];
  if (!has_guarantee(node)) return;
  const bool placed = !guarantee_places_.none(number);
  const auto remove = [&] { (node.in_time ? deadlines_ : upcoming_).remove(guarantee_places_, number); };
  if (node.offers == 0) {
    if (placed) remove();
    return;
  }
  const bool in_time = guarantee_opens(node) <= now;
  const std::int64_t key = in_time ? node.guarantee.opens() + node.guarantee.time_of(node.offers).nanoseconds
                                   : guarantee_opens(node);
  IndexedHeap& heap = in_time ? deadlines_ : upcoming_;
  if (placed && in_time == node.in_time) return heap.set_key(guarantee_places_, number, key);
  if (placed) remove();
  node.in_time = in_time;
  heap.push(guarantee_places_, number, key);
}

std::optional<Instant> RateTree::next_event() const {
  if (nodes_[kLink].backlogged == 0) return std::nullopt;
  std::int64_t event = kLongAgo;
  if (!somebody_may_send()) {
    event = std::min(first_key(gates_), first_key(upcoming_));
  }
  return Instant{Duration{std::max(event, nodes_[kLink].ceiling.opens())}};
}

void RateTree::go_on_from(const RateTree& other, TreeNode before, TreeNode node, Instant instant) {
  const Node& old = other.nodes_[before];
  const auto go_on = [&](Clock& clock, const Clock& was) {
    if (!clock.set()) return;
    // Fractions of the old rate mean nothing at the new one.
    const std::int64_t now = nanoseconds(instant);
    const std::int64_t latest = now + clock.time_of(old.largest).nanoseconds;
    clock.time = {clock.rate == was.rate ? was.opens() : std::min(clock.as_far_ahead_as(was, now), latest),
                  0};
  };
  go_on(nodes_[node].ceiling, old.ceiling);
  go_on(nodes_[node].guarantee, old.guarantee);
}

// As begin() and next() have it.
Instant RateTree::departure_alone(TreeNode number, Instant instant) const {
  const std::int64_t now = nanoseconds(instant);
  const Node& node = nodes_[number];
  std::int64_t opens = now;
  for (TreeNode each = number; each != kLink; each = nodes_[each].parent)
    opens = std::max(opens, nodes_[each].ceiling.opens());
  if (has_guarantee(node))
    opens = std::min(opens, node.guarantee.opens() < now ? now : std::max(now, guarantee_opens(node)));
  return Instant{Duration{std::max(opens, nodes_[kLink].ceiling.opens())}};
}

std::int64_t RateTree::Clock::as_far_ahead_as(const Clock& was, std::int64_t now) const {
  const std::int64_t opens = was.opens();
  if (opens <= now) return opens;
  constexpr long double kLongest = std::int64_t{1} << 61;
  const long double bits = static_cast<long double>(opens - now) * static_cast<long double>(was.rate);
  return now +
         static_cast<std::int64_t>(std::min(std::ceil(bits / static_cast<long double>(rate)), kLongest));
}

void RateTree::set_ceiling(TreeNode number, BitRate rate, Instant instant) {
  const std::int64_t now = nanoseconds(instant);
  Node& node = nodes_[number];
  Clock& clock = node.ceiling;
  assert(clock.set() && rate.bits_per_second > 0);
  if (clock.rate == rate.bits_per_second) return;
  const Clock before = clock;
  clock.set(rate.bits_per_second);
  clock.time = {clock.as_far_ahead_as(before, now), 0};
  clock.credit = clock.time_of(std::uint64_t{kCreditPackets} * node.largest).nanoseconds;
  const bool somebody = somebody_may_send();
  place_path(number, now);
  if (!somebody && somebody_may_send()) may_send_since_ = now;
}

bool RateTree::is_below(TreeNode node, TreeNode ancestor) const {
  while (node > ancestor) node = nodes_[node].parent;  // a parent's number is less
  return node == ancestor;
}

TreeNode RateTree::held_by(TreeNode number, Instant now) const {
  for (;; number = nodes_[number].parent) {
    if (!nodes_[number].ceiling.open(nanoseconds(now))) return number;
    if (number == kLink) return kNoNode;
  }
}

}  // namespace headgate
