#include "core/shaper.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/shaper_state.hpp"

namespace headgate {

ShaperState::ShaperState(const ShaperLimits& limits, std::vector<ClassConfig> configs, MemorySource& memory,
                         const TreeConfig& tree_config)
    : budget(limits.budget ? limits.budget : make_shaper_budget(limits)),
      idle(limits.idle),
      frame_prefix(limits.frame_prefix),
      hash_seed(limits.hash_seed),
      flows(limits.max_flows, memory, limits.budget ? FlowIndex::grows : FlowIndex::whole) {
  for (std::size_t i = 0; i < configs.size(); ++i) class_numbers.push_back(static_cast<ClassNumber>(i));
  tree = make_shape_tree(configs, class_numbers, tree_config);
  for (ClassConfig& config : configs) {
    const auto index = static_cast<ClassIndex>(classes.size());
    classes.push_back(std::make_unique<ShapedClass>(std::move(config)));
    classes.back()->index = index;
    if (tree) classes.back()->node = tree->node_of[index];
  }
}

Shaper::Shaper(const ShaperLimits& limits, std::vector<ClassConfig> classes, MemorySource& memory,
               const TreeConfig& tree)
    : state_(std::make_unique<ShaperState>(limits, std::move(classes), memory, tree)),
      gathers_(state_->gathers()) {}

Shaper::~Shaper() {
  assert(state_->schedule == nullptr);
}

ShapeNumber Shaper::number() const {
  return state_->shape_number;
}

std::size_t Shaper::frame_prefix() const {
  return state_->frame_prefix;
}

void Shaper::suspend() {
  if (state_->suspended) return;
  state_->leave_schedule();
  state_->suspended = true;
  state_->next_to_release = 0;
}

// The time that it was suspended earns no bucket anything: nothing is caught up.
void Shaper::resume(Instant now) {
  ShaperState& state = *state_;
  if (!state.suspended) return;
  state.suspended = false;
  if (state.schedule->wheel.empty()) state.schedule->wheel.start_at(now);
  for (FlowNumber flow = 0; flow < state.flows.numbers(); ++flow) {
    if (!state.flows.in_use(flow)) continue;
    const FlowQueue queue = state.flows[flow].queue;
    if (queue.empty()) continue;
    if (const PacketHandle first = state.first_waiting_in(queue); first != kNoPacket)
      state.pool()[first].earliest = std::max(state.pool()[first].earliest, now);
    state.schedule_flow(flow, state.pool()[state.first_of(queue)].earliest);
  }
  if (state.immediate_head == kNoPacket) return;
  state.immediate_since = now;
  state.schedule->some_immediate = true;
}

std::size_t Shaper::release_all(std::span<DuePacket> out) {
  ShaperState& state = *state_;
  suspend();
  std::size_t count = state.release_immediate(out);
  for (FlowNumber& flow = state.next_to_release; flow < state.flows.numbers(); ++flow) {
    if (!state.flows.in_use(flow)) continue;
    FlowRecord& record = state.flows[flow];
    while (!record.queue.empty()) {
      if (count == out.size()) {
        // Whoever goes on with resume() finds the turn of the first that waits.
        if (const PacketHandle first = state.first_waiting_in(record.queue); first != kNoPacket)
          state.set_turn(record, state.pool()[first]);
        return count;
      }
      state.hand_out(state.unlink_head(flow), out[count++]);
    }
  }
  return count;
}

void Shaper::drop_all(DropReason reason) {
  ShaperState& state = *state_;
  assert(state.outstanding == 0);
  if (state.chunks_in_use == 0) return;  // nothing is queued: each packet has a chunk
  if (!state.suspended) state.leave_schedule();
  for (FlowNumber flow = 0; flow < state.flows.numbers(); ++flow) {
    if (!state.flows.in_use(flow)) continue;
    while (!state.flows[flow].queue.empty()) state.drop_queued(state.unlink_head(flow), reason);
  }
  while (state.immediate_head != kNoPacket) {
    const PacketHandle packet = state.immediate_head;
    state.immediate_head = state.pool()[packet].next;
    state.drop_queued(packet, reason);
  }
  state.immediate_tail = kNoPacket;
}

void Shaper::observe_drops(DropObserver* observer) {
  state_->drop_observer = observer;
}

void Shaper::count_unshaped(ClassIndex class_index, Count received, Count sent, Count send_failed) {
  ClassCounters& counters = state_->counters_at(class_index);
  counters.received += received;
  counters.sent += sent;
  counters.dropped_for(DropReason::send_failed) += send_failed;
}

void Shaper::count_dropped(ClassIndex class_index, Count dropped, DropReason reason) {
  ClassCounters& counters = state_->counters_at(class_index);
  counters.received += dropped;
  counters.dropped_for(reason) += dropped;
}

std::optional<ClassIndex> Shaper::find_class(std::string_view name) const {
  for (const ClassNumber class_number : state_->class_numbers) {
    const ShapedClass& shaped = *state_->classes[class_number];
    if (shaped.config.name == name) return shaped.index;
  }
  return std::nullopt;
}

}  // namespace headgate
