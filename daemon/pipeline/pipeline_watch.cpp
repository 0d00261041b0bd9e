#include "pipeline/pipeline_watch.hpp"

#include <algorithm>

namespace headgate {

PipelineWatch::PipelineWatch(DeadManSwitch& dead_man_switch, const std::vector<Watched>& workers)
    : switch_(dead_man_switch), workers_(workers.size()) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers_[i].source = &workers[i].source;
    workers_[i].drain_health = &workers[i].drain_health;
  }
}

void PipelineWatch::note_look(std::size_t worker, Instant now, bool drains_take) {
  workers_[worker].looked_at.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  workers_[worker].drains_take.store(drains_take, std::memory_order_relaxed);
}

bool PipelineWatch::may_look_later(std::size_t worker, Instant now) const {
  return workers_.size() > 1 && now - workers_[worker].reset_at < kBusyLook;
}

bool PipelineWatch::reset(std::size_t worker, Instant now, Clock& clock) {
  if (!all_get_on(worker, now)) return false;
  workers_[worker].reset_at = now;
  // Not `now`: this process may have been stopped since, which the switch is to notice.
  switch_.reset(clock.now());
  return true;
}

bool PipelineWatch::all_get_on(std::size_t worker, Instant now) const {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& each = workers_[i];
    if (!each.drains_take.load(std::memory_order_relaxed) || each.drain_health->overdue(now)) return false;
    if (i != worker && leaves_frames(each, now, kReadPatience)) return false;
  }
  return true;
}

bool PipelineWatch::leaves_frames(Instant now, Duration patience) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const Worker& each) { return leaves_frames(each, now, patience); });
}

bool PipelineWatch::leaves_frames(const Worker& worker, Instant now, Duration patience) {
  const std::int64_t looked_at = worker.looked_at.load(std::memory_order_relaxed);
  return now.time_since_epoch().count() - looked_at > patience.count() && worker.source->waiting();
}

}  // namespace headgate
