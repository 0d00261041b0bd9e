#include "core/control_meter.hpp"

#include <algorithm>
#include <optional>

namespace headgate {

namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

Duration::rep cost_of(std::uint64_t amount, const ControlLimit::Bound& bound) {
  if (bound.per_second == 0) return 0;
  return static_cast<Duration::rep>(amount * kNanoseconds / bound.per_second);
}

// None: that is more than the bound allows.
std::optional<Duration::rep> charged(Duration::rep paid_at, Duration::rep cost,
                                     const ControlLimit::Bound& bound, Duration::rep now) {
  const Duration::rep after = std::max(paid_at, now) + cost;
  if (after > now + bound.burst.count()) return std::nullopt;
  return after;
}

bool charge(std::atomic<Duration::rep>& paid_at, Duration::rep cost, const ControlLimit::Bound& bound,
            Duration::rep now) {
  if (bound.per_second == 0) return true;
  Duration::rep before = paid_at.load(std::memory_order_relaxed);
  std::optional<Duration::rep> after;
  do {
    after = charged(before, cost, bound, now);
    if (!after) return false;
  } while (!paid_at.compare_exchange_weak(before, *after, std::memory_order_relaxed));
  return true;
}

bool would_charge(const std::atomic<Duration::rep>& paid_at, Duration::rep cost,
                  const ControlLimit::Bound& bound, Duration::rep now) {
  return bound.per_second == 0 || charged(paid_at.load(std::memory_order_relaxed), cost, bound, now);
}

}  // namespace

bool ControlMeter::take(const Count& size, Instant now) {
  const Duration::rep at = now.time_since_epoch().count();
  const Duration::rep packets_cost = cost_of(size.packets, limit_.packets());
  if (!charge(packets_paid_at_, packets_cost, limit_.packets(), at)) return false;
  if (charge(bits_paid_at_, cost_of(size.bytes * 8, limit_.bits()), limit_.bits(), at)) return true;
  packets_paid_at_.fetch_sub(packets_cost, std::memory_order_relaxed);
  return false;
}

bool ControlMeter::would_take(const Count& size, Instant now) const {
  const Duration::rep at = now.time_since_epoch().count();
  return would_charge(packets_paid_at_, cost_of(size.packets, limit_.packets()), limit_.packets(), at) &&
         would_charge(bits_paid_at_, cost_of(size.bytes * 8, limit_.bits()), limit_.bits(), at);
}

}  // namespace headgate
