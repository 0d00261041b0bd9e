#include "core/policer.hpp"

#include <algorithm>

namespace headgate {

bool polices_alike(const ClassConfig& one, const ClassConfig& other) {
  return one.police.limiter == other.police.limiter &&
         one.police.window.packets.has_value() == other.police.window.packets.has_value();
}

Policer::Policer(const ClassConfig& config)
    : bucket_(config.rate, config.burst, config.link_layer), exceed_dscp_(config.police.exceed_dscp) {
  const auto& [limiter, window, dscp] = config.police;
  if (limiter == Limiter::token_bucket) return;
  counts_bytes_ = !window.packets;
  window_ = {.limit = counts_bytes_ ? window.bytes.value_or(DataSize{}).bytes : *window.packets,
             .length = std::max(window.length, Duration{1}),
             .slides = limiter == Limiter::sliding_window};
}

Instant Policer::judged_at(Instant arrival) {
  latest_ = std::max(latest_, arrival);
  return latest_;
}

std::uint64_t Policer::units(const Cost& cost) const {
  return counts_bytes_ ? bucket_.link_bytes(cost) : cost.packets;
}

bool Policer::conforms(const FlowBucket& state, const Cost& cost, Instant at) const {
  if (window_) return FlowWindow::kept_in(state).allows(*window_, units(cost), at);
  return state.earliest(bucket_, cost, at) <= at;
}

void Policer::charge(FlowBucket& state, const Cost& cost, Instant at) const {
  if (!window_) return state.commit(bucket_, cost, at);
  FlowWindow window = FlowWindow::kept_in(state);
  window.charge(*window_, units(cost), at);
  window.keep_in(state);
}

bool Policer::as_new(const FlowBucket& state, Instant now) const {
  return window_ ? FlowWindow::kept_in(state).as_new(*window_, now) : state.as_new(now);
}

void Policer::go_on_from(const Policer& before, Instant now) {
  latest_ = std::max(before.latest_, now);
}

void Policer::change(FlowBucket& state, const Policer& before) const {
  if (!window_ || !before.window_) return state.change(before.bucket_, bucket_, latest_);
  FlowWindow window = FlowWindow::kept_in(state);
  window.change(*before.window_, *window_, latest_);
  window.keep_in(state);
}

}  // namespace headgate
