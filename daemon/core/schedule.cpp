#include "core/schedule.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "core/schedule_state.hpp"
#include "core/shaper_state.hpp"

namespace headgate {

ScheduleState::ScheduleState(const ScheduleLimits& limits, MemorySource& memory)
    : pool(limits.memory, memory),
      backlogs(std::min(pool.chunks(), std::max(1u, limits.max_flows)), memory),
      wheel(std::min(pool.chunks(), std::max(1u, limits.max_flows)), memory),
      turns(std::min(pool.chunks(), std::max(1u, limits.max_flows)), memory) {}

Schedule::Schedule(const ScheduleLimits& limits, MemorySource& memory, Instant now)
    : state_(std::make_unique<ScheduleState>(limits, memory)) {
  state_->wheel.start_at(now);
  grow_ahead();
}

Schedule::~Schedule() = default;

void Schedule::add(Shaper& shaper) {
  ShaperState& shape = *shaper.state_;
  assert(shape.schedule == nullptr);
  auto& shapes = state_->shapes;
  const auto free = std::find(shapes.begin(), shapes.end(), nullptr);
  const auto number = static_cast<std::size_t>(free - shapes.begin());
  if (number == kNoShape) throw std::length_error("a schedule has no more than 65535 shapes");
  if (free == shapes.end()) shapes.push_back(nullptr);
  state_->tree_places.grow_to(shapes.size());
  state_->trees.reserve(shapes.size());
  shape.budget->add(shape);
  shapes[number] = &shape;
  shape.shape_number = static_cast<ShapeNumber>(number);
  shape.schedule = state_.get();
  state_->flows += shape.flows.size();
  state_->some_short = true;
  grow_ahead();
}

void Schedule::remove(Shaper& shaper) {
  ShaperState& shape = *shaper.state_;
  assert(shape.schedule == state_.get() && shape.chunks_in_use == 0 && shape.outstanding == 0);
  if (!state_->tree_places.none(shape.shape_number))
    state_->trees.remove(state_->tree_places, shape.shape_number);
  state_->shapes[shape.shape_number] = nullptr;
  shape.budget->remove(shape);
  state_->flows -= shape.flows.size();
  shape.shape_number = kNoShape;
  shape.schedule = nullptr;
  shape.suspended = false;
}

std::size_t Schedule::frame_parts(const DuePacket& packet,
                                  std::span<std::span<const std::byte>> parts) const {
  return state_->pool.parts(packet.handle, parts);
}

Instant Schedule::first_due() const {
  Instant first = state_->wheel.first_due();
  if (!state_->trees.empty()) first = std::min(first, Instant{Duration{state_->trees.first().key}});
  if (!state_->some_immediate) return first;
  for (const ShaperState* shape : state_->shapes) {
    if (shape == nullptr || shape->suspended || shape->immediate_head == kNoPacket) continue;
    first = std::min(first, shape->immediate_since);
  }
  return first;
}

bool Schedule::lends() const {
  return state_->pool.lends();
}

void Schedule::keep_lent() {
  state_->pool.keep_lent();
}

void Schedule::grow_ahead() {
  ScheduleState& state = *state_;
  state.pool.grow_ahead();
  state.backlogs.grow_ahead();
  state.wheel.grow_ahead(state.queues);
  if (!state.some_short) return;
  state.some_short = false;
  for (ShaperState* shape : state.shapes)
    if (shape != nullptr) shape->flows.grow_ahead();
}

}  // namespace headgate
