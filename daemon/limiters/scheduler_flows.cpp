// A scheduler's flows from place to place: idle, upcoming, in the round.
#include <algorithm>

#include "limiters/scheduler_state.hpp"

namespace headgate {

// kNone: there is no room, and nobody may be forgotten.
Scheduler::State::FlowNumber Scheduler::State::find_or_add(FlowNumber known, const Flow& name) {
  if (known != FlowNames::kNone) return known;
  if (names_.full()) {
    if (idle_.empty() || Instant{Duration{idle_.first().key}} > now_) return FlowNames::kNone;
    const FlowNumber forgotten = idle_.first().number;
    idle_.remove(places_, forgotten);
    names_.remove(forgotten);
  }
  const FlowNumber flow = names_.add(name);
  flows_[flow] = RunningFlow{};
  turns_[flow] = Turn{};
  return flow;
}

// A flow that held nothing has an item.
void Scheduler::State::begin(RunningClass& its_class, FlowNumber flow) {
  drained_ = std::min(drained_, flow);
  find_earliest(its_class, flow);
  if (turns_[flow].taken) return begin_turns(its_class, flow);
  if (!places_.none(flow)) idle_.remove(places_, flow);
  if (flows_[flow].earliest <= now_)
    join_round(its_class, flow);
  else
    wait_for_rate(flow);
}

// Of the first item: not before the one that left last, either.
void Scheduler::State::find_earliest(const RunningClass& its_class, FlowNumber flow) {
  const QueuedItem& first = queues_.front(flow);
  RunningFlow& running = flows_[flow];
  running.earliest =
      running.bucket.earliest(its_class.limits, first.cost(), std::max(first.arrival, running.left));
}

void Scheduler::State::wait_for_rate(FlowNumber flow) {
  upcoming_.push(places_, flow, flows_[flow].earliest.time_since_epoch().count());
}

void Scheduler::State::release_upcoming() {
  while (!upcoming_.empty() && Instant{Duration{upcoming_.first().key}} <= now_) {
    const FlowNumber flow = upcoming_.first().number;
    upcoming_.remove(places_, flow);
    join_round(class_of(flow), flow);
  }
}

void Scheduler::State::join_round(RunningClass& its_class, FlowNumber flow) {
  its_class.round.add(turns_, flow, !its_class.limits.set());
  begin_turns(its_class, flow);
}

// One more flow of the round holds items.
void Scheduler::State::begin_turns(RunningClass& its_class, FlowNumber flow) {
  if (its_class.ready++ > 0) return;
  rates_.begin(its_class.node, queues_.front(flow).bytes, std::min(flows_[flow].earliest, now_));
}

// The first of the round has nothing to send: its items were drained, or it is a flow that shares alike and has sent all.
void Scheduler::State::pass_over(RunningClass& sender, FlowNumber flow) {
  if (queues_.empty(flow)) {
    if (sender.round.first_is_empty(turns_)) retire(sender, flow);
    return;
  }
  sender.round.take_first(turns_);
  wait_for_rate(flow);
  --sender.ready;
  end_if_none_is_ready(sender);
}

// The first of the round has an item less. The tree is to be told.
void Scheduler::State::advance(RunningClass& sender, FlowNumber flow) {
  if (queues_.empty(flow)) {
    turns_[flow].codel.note_empty();
    --sender.ready;
    if (sender.limits.set()) {
      sender.round.take_first(turns_);
      retire(sender, flow);
    }
  } else {
    find_earliest(sender, flow);
    if (flows_[flow].earliest > now_) {
      --sender.ready;
      sender.round.take_first(turns_);
      wait_for_rate(flow);
    }
  }
  if (sender.ready == 0) empty_round(sender);
}

void Scheduler::State::end_if_none_is_ready(RunningClass& sender) {
  if (sender.ready > 0) return;
  empty_round(sender);
  rates_.end(sender.node);
}

// Nobody of it holds anything: there is no turn to keep.
void Scheduler::State::empty_round(RunningClass& sender) {
  while (!sender.round.empty()) retire(sender, sender.round.take_first(turns_));
}

// A flow that holds nothing, and is nowhere else. Its deficit is over, as in RFC 8290.
void Scheduler::State::retire(const RunningClass& its_class, FlowNumber flow) {
  turns_[flow].deficit = 0;
  Instant as_new_at = flows_[flow].bucket.as_new_at();
  if (const auto& codel = its_class.config.codel)
    as_new_at = std::max(as_new_at, turns_[flow].codel.as_new_at({codel->target, codel->interval}));
  idle_.push(places_, flow, as_new_at.time_since_epoch().count());
}

// It is not paid for, but the one behind it could not leave before it was gone.
Scheduler::Handle Scheduler::State::give_up_first(FlowNumber flow) {
  RunningFlow& running = flows_[flow];
  running.left = std::max(running.left, std::min(running.earliest, now_));
  const Handle handle = queues_.front(flow).handle;
  queues_.pop(flow);
  return handle;
}

Scheduler::Handle Scheduler::State::take_out(FlowNumber flow) {
  RunningClass& its_class = class_of(flow);
  const bool upcoming = !places_.none(flow);
  const Handle handle = give_up_first(flow);
  if (upcoming) upcoming_.remove(places_, flow);
  if (!queues_.empty(flow)) {
    find_earliest(its_class, flow);
    if (upcoming) wait_for_rate(flow);
    return handle;
  }
  turns_[flow].codel.note_empty();
  if (upcoming) {
    retire(its_class, flow);
  } else {
    --its_class.ready;  // it leaves the round when its turn comes
    end_if_none_is_ready(its_class);
  }
  return handle;
}

}  // namespace headgate
