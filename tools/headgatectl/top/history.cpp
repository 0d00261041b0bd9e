#include "top/history.hpp"

#include <algorithm>
#include <utility>

#include "top/delay_quantile.hpp"

namespace headgate::top {
namespace {

double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
  return static_cast<double>(now - before) / seconds;
}

// Nothing where one went back: the counts began anew.
std::vector<std::uint64_t> growth(const std::vector<std::uint64_t>& before,
                                  const std::vector<std::uint64_t>& now) {
  if (before.size() != now.size()) return {};
  std::vector<std::uint64_t> grown(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] < before[i]) return {};
    grown[i] = now[i] - before[i];
  }
  return grown;
}

Sample between(const Totals& before, const Totals& now, double seconds, const std::vector<double>& bounds) {
  // All or none: of what began anew a count may by chance be larger than the old one.
  if (now.packets < before.packets || now.bytes < before.bytes || now.drops < before.drops) return {};
  const std::vector<std::uint64_t> delays = growth(before.delays, now.delays);
  const auto p50 = delay_quantile(delays, bounds, 0.5, now.p50);
  return {.packets = per_second(before.packets, now.packets, seconds),
          .bits = 8 * per_second(before.bytes, now.bytes, seconds),
          .drops = per_second(before.drops, now.drops, seconds),
          .p50 = p50,
          .p99 = std::max(p50, delay_quantile(delays, bounds, 0.99, now.p99))};
}

}  // namespace

void History::add(Totals now, double seconds, const std::vector<double>& delay_bounds) {
  if (before_) samples_.push_back(seconds > 0 ? between(*before_, now, seconds, delay_bounds) : Sample{});
  if (samples_.size() > kSamplesKept) samples_.pop_front();
  before_ = std::move(now);
}

void History::set_delays(std::optional<double> p50, std::optional<double> p99) {
  if (samples_.empty()) return;
  samples_.back().p50 = p50;
  samples_.back().p99 = p99;
}

const Sample& History::latest() const {
  static const Sample kNone;
  return samples_.empty() ? kNone : samples_.back();
}

}  // namespace headgate::top
