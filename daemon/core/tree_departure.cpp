// Classes in a shape's tree: a flow that its bucket lets go takes its turn in the class's round, the tree says which class
// sends, and what has waited too long is dropped there.
#include <algorithm>
#include <cassert>

#include "core/congestion_mark.hpp"
#include "core/schedule_state.hpp"
#include "core/shaper_state.hpp"

namespace headgate {
namespace {

constexpr Duration kL4sTarget = std::chrono::milliseconds(1);

}  // namespace

// A flow in a tree always has a backlog, and keeps it while it is in a round. One that came to the tree with a backlog may
// have no turn yet.
bool ShaperState::make_place_in_tree(const FlowQueue& queue) {
  const bool has_packets = queue.is_backlog() && backlogs()[queue.backlog()].head != kNoPacket;
  return (has_packets || (schedule->wheel.reserve(schedule->queues + 1) && backlogs().make_ready())) &&
         schedule->turns.make_ready(backlogs().numbers());
}

// There must be a place for it.
void ShaperState::enqueue_in_tree(FlowNumber flow, PacketHandle packet) {
  FlowRecord& record = flows[flow];
  ShapedClass& shaped = *classes[record.class_number];
  StoredPacket& stored = pool()[packet];
  stored.flow = flow;
  const BacklogNumber number = backlog_in_tree(flow);
  const bool first = backlogs()[number].head == kNoPacket;
  append(record, number, packet);
  if (!first) return;
  ++schedule->queues;
  if (schedule->turns[number].taken)
    begin_turns(shaped, stored);
  else if (stored.earliest <= stored.arrival && !suspended)
    join_round(shaped, number);
  else
    schedule_flow(flow, stored.earliest);
}

// A flow whose bucket lets its first packet go, out of the wheel.
void ShaperState::make_ready(FlowNumber flow) {
  FlowRecord& record = flows[flow];
  ShapedClass& shaped = *classes[record.class_number];
  if (make_place_in_tree(record.queue)) return join_round(shaped, backlog_in_tree(flow));
  while (!record.queue.empty()) drop_queued(unlink_head(flow), DropReason::pool_full);
}

// There must be a place for it, if it has none.
BacklogNumber ShaperState::backlog_in_tree(FlowNumber flow) {
  FlowQueue& queue = flows[flow].queue;
  if (queue.is_backlog()) return queue.backlog();
  if (queue.empty()) queue = FlowQueue::of_backlog(backlogs().acquire(flow, shape_number));
  const BacklogNumber number = backlog_of(flow);
  schedule->turns[number] = Turn{};
  return number;
}

// A flow whose first packet may leave as far as its bucket is concerned.
void ShaperState::join_round(ShapedClass& shaped, BacklogNumber number) {
  shaped.round.add(schedule->turns, number, !shaped.has_buckets());
  begin_turns(shaped, pool()[backlogs()[number].head]);
}

// One more flow of the round has packets; `first` is its first.
void ShaperState::begin_turns(ShapedClass& shaped, const StoredPacket& first) {
  if (shaped.ready++ > 0) return;
  if (tree->rates.begin(shaped.node, shaped.parameters.link_bytes(first.cost()), first.earliest))
    note_event();
}

std::size_t ScheduleState::release_from_trees(Instant now, std::span<DuePacket> out) {
  std::size_t count = 0;
  while (count < out.size() && !trees.empty() && Instant{Duration{trees.first().key}} <= now)
    count += shapes[trees.first().number]->release_from_tree(now, out.subspan(count));
  return count;
}

[[gnu::flatten]] std::size_t ShaperState::release_from_tree(Instant now, std::span<DuePacket> out) {
  RateTree& rates = tree->rates;
  std::size_t count = 0;
  while (count < out.size()) {
    const RateTree::Turn turn = rates.next(now);
    if (!turn) break;
    ShapedClass& shaped = *classes[tree->class_of[turn.node]];
    const BacklogNumber number = take_turn(shaped, now);
    if (number == kNoBacklog) {
      rates.end(turn.node);
      continue;
    }
    const Backlog& backlog = backlogs()[number];
    const PacketHandle packet = backlog.head;
    StoredPacket& stored = pool()[packet];
    const std::uint64_t bytes = shaped.parameters.link_bytes(stored.cost());
    const Instant departure = caught_up(rates.departure(turn, stored.earliest, now), now);
    stored.earliest = std::max(stored.earliest, departure);
    if (backlog.first_waiting == packet) pay_for_first(number, now);
    unlink_in_round(number);
    Round::charge(schedule->turns[number], bytes);
    note_departure(shaped, number, now);
    std::uint64_t behind = 0;
    if (shaped.ready > 0) {
      const PacketHandle next = backlogs()[shaped.round.likely_first()].head;
      behind = next == kNoPacket ? bytes : shaped.parameters.link_bytes(pool()[next].cost());
    }
    rates.sent(turn, bytes, behind, departure, now);
    if (turn.guaranteed) shaped.guaranteed += stored.cost();
    shaped.delays.prefetch(now - stored.arrival, now);
    hand_out(packet, out[count++]);
  }
  note_event();
  return count;
}

// What is longer ago than may be caught up shifts the schedule.
Instant ShaperState::caught_up(Instant departure, Instant now) {
  const Duration shift = now - kMaxCatchUp - departure;
  if (shift <= Duration::zero()) return departure;
  shifts += {.times = 1, .total = shift};
  return departure + shift;
}

// The flow whose turn it is, with a packet at its head that may leave. kNoBacklog: the class has none any more.
BacklogNumber ShaperState::take_turn(ShapedClass& shaped, Instant now) {
  TurnTable& turns = schedule->turns;
  while (shaped.ready > 0) {
    const BacklogNumber number = shaped.round.first(turns);
    if (backlogs()[number].head == kNoPacket) {
      if (shaped.round.first_is_empty(turns)) release_backlog(number);
      continue;
    }
    const PacketHandle before = backlogs()[number].head;
    drop_what_must_go(shaped, number, now);
    const PacketHandle head = backlogs()[number].head;
    if (head != kNoPacket && (head == before || pool()[head].earliest <= now)) return number;
    note_departure(shaped, number, now);
  }
  return kNoBacklog;
}

// The first of the round has a packet less.
void ShaperState::note_departure(ShapedClass& shaped, BacklogNumber number, Instant now) {
  TurnTable& turns = schedule->turns;
  const Backlog& backlog = backlogs()[number];
  const FlowNumber flow = backlog.flow;
  const PacketHandle head = backlog.head;
  if (head == kNoPacket) {
    flows[flow].last_used = now;
    turns[number].codel.note_empty();
    --shaped.ready;
    if (shaped.has_buckets()) {
      shaped.round.take_first(turns);
      release_backlog(number);
    }
  } else if (pool()[head].earliest > now) {
    --shaped.ready;
    shaped.round.take_first(turns);
    schedule_flow(flow, pool()[head].earliest);
  }
  if (shaped.ready == 0) leave_round(shaped, Rounds::nowhere);  // nobody has anything: no turn to keep
}

void ShaperState::drop_what_must_go(ShapedClass& shaped, BacklogNumber number, Instant now) {
  Backlog& backlog = backlogs()[number];
  while (backlog.head != kNoPacket) {
    const auto reason = reason_to_go(shaped, number, now);
    if (!reason) return;
    const PacketHandle packet = unlink_in_round(number);
    if (backlog.head != kNoPacket && backlog.first_waiting == backlog.head)
      set_turn(flows[backlog.flow], pool()[backlog.head]);
    drop_queued(packet, *reason);
  }
}

// Marks the first packet instead, where its sender takes that for a loss.
std::optional<DropReason> ShaperState::reason_to_go(ShapedClass& shaped, BacklogNumber number, Instant now) {
  const Backlog& backlog = backlogs()[number];
  const StoredPacket& stored = pool()[backlog.head];
  const FlowRecord& record = flows[backlog.flow];
  const QueueCapacity& capacity = shaped.queue_of(record);
  const ClassConfig& config = shaped.config;
  const Duration waited = now - stored.arrival;
  if (capacity.time && waited > *capacity.time) return DropReason::too_old;
  if (config.aqm == QueueManagement::none) return std::nullopt;
  const bool is_short = waited < std::min(config.codel.target, kL4sTarget);
  const Duration least =
      is_short ? Duration::zero() : least_codel_target(shaped.parameters_of(record), stored.cost());
  const Codel::Law law{.target = std::max(config.codel.target, least), .interval = config.codel.interval};
  const bool too_many = schedule->turns[number].codel.is_one_too_many(waited, backlog.single(), law, now);
  const bool early = waited > std::max(kL4sTarget, least);
  if (!too_many && !early) return std::nullopt;
  std::span<std::byte> frame = pool().first_bytes(backlog.head);
  frame = frame.subspan(std::min(frame_prefix, frame.size()));
  const Ecn ecn = config.codel.ecn ? ecn_of(frame) : Ecn::not_capable;
  if (ecn == Ecn::not_capable) return too_many ? std::optional(DropReason::aqm) : std::nullopt;
  if (ecn == Ecn::marked || (ecn == Ecn::capable && !too_many)) return std::nullopt;
  mark_congestion(frame);
  shaped.marked += stored.cost();
  return std::nullopt;
}

void ShaperState::leave_rounds(Rounds where) {
  if (!tree) return;
  for (const auto& shaped : classes) {
    if (shaped && shaped->in_tree()) leave_round_and_tree(*shaped, where);
  }
  note_event();
}

// note_event() is to follow.
void ShaperState::leave_round_and_tree(ShapedClass& shaped, Rounds where) {
  if (shaped.ready > 0) tree->rates.end(shaped.node);
  leave_round(shaped, where);
}

void ShaperState::leave_round(ShapedClass& shaped, Rounds where) {
  while (!shaped.round.empty()) {
    const BacklogNumber number = shaped.round.take_first(schedule->turns);
    const Backlog& backlog = backlogs()[number];
    if (backlog.head == kNoPacket)
      release_backlog(number);
    else if (where == Rounds::to_wheel)
      schedule_flow(backlog.flow, pool()[backlog.head].earliest);
  }
  shaped.ready = 0;
}

// When a packet may leave here, for the schedule.
void ShaperState::note_event() {
  if (schedule == nullptr) return;
  const auto event = tree ? tree->rates.next_event() : std::nullopt;
  IndexedHeap& trees = schedule->trees;
  IndexedHeap::Places& places = schedule->tree_places;
  if (!event) {
    if (!places.none(shape_number)) trees.remove(places, shape_number);
  } else if (places.none(shape_number)) {
    trees.push(places, shape_number, event->time_since_epoch().count());
  } else {
    trees.set_key(places, shape_number, event->time_since_epoch().count());
  }
}

}  // namespace headgate
