#include "pipeline/worker.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace headgate {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

}  // namespace

Worker::Worker(const ScheduleLimits& limits, MemorySource& memory, Waiter& waiter, Clock& clock)
    : waiter_(waiter), clock_(clock), schedule_(limits, memory, clock.now()), outgoing_(schedule_, clock) {}

void Worker::run() {
  stretch_since_ = clock_.now();
  processor_time_ = waiter_.processor_time();
  while (!stopping_.load(std::memory_order_acquire)) go_round();
  give_back_slots();
  {
    const std::lock_guard lock(requests_mutex_);
    change_members(kAll);
    put_leases_in_force(kAll);
    runs_ = false;
  }
  run_requests();
}

void Worker::stop() {
  stopping_.store(true, std::memory_order_release);
  waiter_.wake();
}

// The worker's whole work.
void Worker::go_round() {
  if (has_requests_.load(std::memory_order_relaxed)) run_requests();
  change_members(kMembersAtOnce);
  put_leases_in_force(kLeasesAtOnce);
  attend_to_ports();
  const Instant began = clock_.now();
  const std::size_t read_count = read();
  const Instant now = clock_.now();
  look_after_pause(now);
  note_lateness(now);
  rest_at_times(now);
  schedule_.end_leases(now);
  outgoing_.take_due(now);
  const bool sends = !outgoing_.empty();
  if (sends) send_due(began);
  schedule_.grow_ahead();
  const std::optional<Instant> next = schedule_.next_release();
  give_back_slots(next);
  publish(now, next);
  if (read_count == 0 && !sends) sleep_until(next);
}

// One batch of frames and one of hand-overs, of all ports together.
std::size_t Worker::read() {
  for (SharedSource* source : shared_) source->distribute(Port::kBatch);
  std::size_t frames = 0;
  std::size_t hand_overs = 0;
  const std::size_t count = ports_.size();
  std::size_t at = first_port_ < count ? first_port_ : 0;
  for (std::size_t i = 0; i < count && frames < Port::kBatch; ++i) {
    Port& port = *ports_[at].port;
    frames += port.read(Port::kBatch - frames, outgoing_);
    hand_overs += port.take_hand_overs(Port::kBatch - std::min(Port::kBatch, hand_overs));
    at = at + 1 == count ? 0 : at + 1;
  }
  first_port_ = at;
  if (frames > 0) busy_ = frames >= Port::kBusyFrames;
  return frames + hand_overs;
}

void Worker::note_lateness(Instant now) {
  const bool late = health_.overdue(now, kMaxCatchUp) ||
                    std::any_of(ports_.begin(), ports_.end(),
                                [](const PortEntry& entry) { return entry.port->was_late(); });
  if (late)
    health_.late_times.store(health_.late_times.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
}

// The batch may end before it has come to each port.
void Worker::look_after_pause(Instant now) {
  if (health_.has_looked_for(now, WorkerHealth::kPatience)) return;
  for (const PortEntry& entry : ports_) entry.port->look_after_pause(now);
}

// Not when this thread was stopped since the round began: then younger packets may pass them, and the ports find out.
void Worker::send_due(Instant began) {
  if (clock_.now() - began > WorkerHealth::kPatience) return outgoing_.drop(DropReason::overtaken);
  outgoing_.send();
}

void Worker::send_all_due() {
  for (outgoing_.take_due(clock_.now()); !outgoing_.empty(); outgoing_.take_due(clock_.now()))
    outgoing_.send();
}

// A frame that leaves soon is not worth a copy; as long as there is room for the slots of the next batch.
void Worker::give_back_slots(std::optional<Instant> next) {
  std::size_t out = 0;
  for (const PortEntry& entry : ports_) out += entry.port->slots_out();
  if (out == 0) return;
  const bool soon = next && schedule_.lends() && *next - clock_.now() <= kLoan;
  if (soon && out + 2 * Port::kBatch <= OutgoingBatch::kMostSlots) return;
  give_back_slots();
}

void Worker::give_back_slots() {
  schedule_.keep_lent();
  for (const PortEntry& entry : ports_) entry.port->give_back_slots();
}

// What they wait for outside a packet's way. Whoever hears of an end may remove the port, but only by a request.
void Worker::attend_to_ports() {
  for (const PortEntry& entry : ports_) {
    Port& port = *entry.port;
    if (port.can_go_on()) {
      give_back_slots();
      port.go_on([this] { send_all_due(); });
    }
    if (port.has_ended()) port.note_end();
  }
}

// Frames that nobody reads for now must not end a wait.
void Worker::watch_sources() {
  for (PortEntry& entry : ports_) {
    if (entry.port->source().is_shared() || entry.watched == entry.port->reads()) continue;
    entry.watched = !entry.watched;
    if (entry.watched) {
      waiter_.add(entry.port->source());
    } else {
      waiter_.remove(entry.port->source());
    }
  }
}

void Worker::publish(Instant now, std::optional<Instant> next) {
  health_.looked_at.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  health_.next_due.store(next ? next->time_since_epoch().count() : WorkerHealth::kNothingDue,
                         std::memory_order_relaxed);
}

// prepare() comes before the last look for work, so that a hand-over or request in between is not slept through.
void Worker::sleep_until(std::optional<Instant> next) {
  waiter_.prepare();
  if (has_work()) return waiter_.cancel();
  watch_sources();
  bool busy = std::exchange(busy_, false);
  for (const PortEntry& entry : ports_) {
    busy = busy || entry.port->blocked();
    if (!entry.port->must_look_again()) continue;
    const Instant latest = clock_.now() + kLookAgain;
    next = std::min(next.value_or(latest), latest);
  }
  waiter_.wait(next, busy);
}

bool Worker::has_work() const {
  return stopping_.load(std::memory_order_seq_cst) || has_requests_.load(std::memory_order_seq_cst) ||
         !members_.empty() || !leases_.empty() ||
         std::any_of(ports_.begin(), ports_.end(), [](const PortEntry& entry) {
           return entry.port->has_hand_overs() || entry.port->can_go_on() || entry.port->has_ended();
         });
}

void Worker::rest_at_times(Instant now) {
  if (!real_time_ || now - stretch_since_ < kStretch) return;
  const Duration taken = waiter_.processor_time() - processor_time_;
  if (taken * 100 > (now - stretch_since_) * kMostPercent) clock_.sleep(kRest);
  processor_time_ += taken;
  stretch_since_ = clock_.now();
}

void Worker::add_shared(SharedSource& source) {
  waiter_.add(source);
  shared_.push_back(&source);
}

void Worker::add_port(Port& port) {
  outgoing_.add_port(port);
  const bool watched = !port.source().is_shared();
  if (watched) waiter_.add(port.source());
  ports_.push_back({.port = &port, .watched = watched});
  port.source().begin();
}

void Worker::remove_port(Port& port) {
  const auto found = std::find_if(ports_.begin(), ports_.end(),
                                  [&port](const PortEntry& entry) { return entry.port == &port; });
  if (found == ports_.end()) return;
  if (found->watched) waiter_.remove(port.source());
  ports_.erase(found);
  port.source().end();
  outgoing_.remove_port(port);
  port.observe(false);
}

bool Worker::send_some(Port& port, Instant give_up) {
  for (int batches = 0; batches < kSomeBatches; ++batches) {
    if (outgoing_.take_all(port) == 0) return false;
    if (clock_.now() < give_up) {
      outgoing_.send();
    } else {
      outgoing_.drop(DropReason::stop);
    }
  }
  return true;
}

std::future<void> Worker::ask(Request request) {
  PendingRequest pending{.request = std::move(request), .done = {}};
  std::future<void> done = pending.done.get_future();
  bool runs = false;
  {
    const std::lock_guard lock(requests_mutex_);
    requests_.push_back(std::move(pending));
    has_requests_.store(true, std::memory_order_seq_cst);
    runs = runs_;
  }
  if (runs) {
    waiter_.wake();
  } else {
    run_requests();
  }
  return done;
}

void Worker::change_member(MemberUpdateOf update) {
  {
    const std::lock_guard lock(requests_mutex_);
    members_.push(std::move(update));
    if (!runs_) return change_members(kAll);
  }
  if (++members_unwoken_ < kMembersAtOnce) return;
  members_unwoken_ = 0;
  waiter_.wake();
}

void Worker::change_members(std::size_t limit) {
  if (members_.first() == nullptr) return;
  const Instant now = clock_.now();
  for (; limit > 0 && members_.first() != nullptr; --limit, members_.pop()) {
    MemberUpdateOf& each = *members_.first();
    each.shaper->change_member(each.class_index, each.update, now);
  }
}

void Worker::lease(LeasedRateOf rate) {
  {
    const std::lock_guard lock(requests_mutex_);
    leases_.push(std::move(rate));
    if (!runs_) return put_leases_in_force(kAll);
  }
  waiter_.wake();
}

void Worker::put_leases_in_force(std::size_t limit) {
  if (leases_.first() == nullptr) return;
  const Instant now = clock_.now();
  for (; limit > 0 && leases_.first() != nullptr; --limit, leases_.pop())
    leases_.first()->shaper->lease(leases_.first()->lease, now);
}

bool Worker::call(Request request, Duration patience) {
  std::future<void> done = ask(std::move(request));
  if (done.wait_for(patience) != std::future_status::ready) return false;
  done.get();
  return true;
}

void Worker::run_requests() {
  std::vector<PendingRequest> requests;
  {
    const std::lock_guard lock(requests_mutex_);
    requests.swap(requests_);
    has_requests_.store(false, std::memory_order_relaxed);
  }
  if (requests.empty()) return;
  change_members(kAll);  // those that came before
  put_leases_in_force(kAll);
  give_back_slots();
  for (PendingRequest& pending : requests) {
    try {
      pending.request(clock_.now());
      pending.done.set_value();
    } catch (...) {
      pending.done.set_exception(std::current_exception());
    }
  }
}

}  // namespace headgate
