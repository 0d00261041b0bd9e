#include "pipeline/shape_watch.hpp"

#include <algorithm>
#include <utility>

namespace headgate {

ShapeWatch::ShapeWatch(DeadManSwitch& dead_man_switch, std::vector<Watched> parts)
    : switch_(dead_man_switch) {
  parts_.reserve(parts.size());
  for (Watched& watched : parts) parts_.emplace_back(std::move(watched));
}

bool ShapeWatch::told(std::size_t part) const {
  return parts_[part].cleared_at.load(std::memory_order_relaxed) != opening_.load(std::memory_order_acquire);
}

bool ShapeWatch::must_clear(std::size_t part, Instant now) {
  if (told(part)) return true;
  if (!has_been_open(now) || !all_cleared()) return false;
  // One of several that find it begins; the others are told.
  std::uint64_t opening = parts_[part].cleared_at.load(std::memory_order_relaxed);
  opening_.compare_exchange_strong(opening, opening + 1, std::memory_order_acq_rel);
  for (std::size_t other = 0; other < parts_.size(); ++other)
    if (other != part) parts_[other].watched.waiter.wake();
  return true;
}

// And packets have passed.
bool ShapeWatch::has_been_open(Instant now) const {
  return switch_.unread_for(now) > WorkerHealth::kPatience && switch_.has_let_pass();
}

void ShapeWatch::cleared(std::size_t part, Clock& clock) {
  parts_[part].cleared_at.store(opening_.load(std::memory_order_acquire), std::memory_order_release);
  if (all_cleared()) switch_.reset(clock.now());
}

bool ShapeWatch::all_cleared() const {
  const std::uint64_t opening = opening_.load(std::memory_order_acquire);
  return std::all_of(parts_.begin(), parts_.end(), [opening](const Part& part) {
    return part.cleared_at.load(std::memory_order_acquire) == opening;
  });
}

bool ShapeWatch::may_reset_later(std::size_t part, Instant now) const {
  return parts_.size() > 1 && now - parts_[part].reset_at < kBusyLook;
}

bool ShapeWatch::reset(std::size_t part, Instant now, Clock& clock) {
  if (!all_cleared()) return false;
  for (std::size_t other = 0; other < parts_.size(); ++other)
    if (other != part && stands_still(parts_[other], now, kLookPatience)) return false;
  // Not `now`: this process may have been stopped since.
  const Instant at = clock.now();
  if (has_been_open(at)) return false;
  parts_[part].reset_at = now;
  switch_.reset(at);
  return true;
}

bool ShapeWatch::stands_still(Instant now, Duration patience) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Part& part) { return stands_still(part, now, patience); });
}

bool ShapeWatch::stands_still(const Part& part, Instant now, Duration patience) {
  const Watched& watched = part.watched;
  if (watched.health.has_looked_for(now, patience)) return false;
  return watched.source.waiting() || watched.health.overdue(now, patience) ||
         std::any_of(watched.inputs.begin(), watched.inputs.end(),
                     [](const HandOff* input) { return !input->empty(); });
}

}  // namespace headgate
