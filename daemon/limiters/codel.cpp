#include "limiters/codel.hpp"

#include <cmath>

namespace headgate {
namespace {

// A queue that was bad so many intervals ago goes on dropping at the pace that it had.
constexpr int kRemembered = 16;

bool above_for_interval(Codel& codel, Duration waited, bool last, const Codel::Law& law, Instant now) {
  if (waited < law.target || last) {
    codel.above_at = {};
    return false;
  }
  if (codel.above_at == Instant{}) {
    codel.above_at = now + law.interval;
    return false;
  }
  return now >= codel.above_at;
}

}  // namespace

Duration codel_interval(Duration interval, std::uint32_t count) {
  return Duration{std::llround(static_cast<double>(interval.count()) / std::sqrt(count))};
}

bool Codel::is_one_too_many(Duration waited, bool last, const Law& law, Instant now) {
  const bool bad = above_for_interval(*this, waited, last, law, now);
  if (dropping) {
    if (!bad) dropping = false;
    if (!bad || now < next) return false;
    ++count;
    next += codel_interval(law.interval, count);
    return true;
  }
  if (!bad) return false;
  dropping = true;
  const std::uint32_t gained = count - before;
  count = gained > 1 && now - next < kRemembered * law.interval ? gained : 1;
  before = count;
  next = now + codel_interval(law.interval, count);
  return true;
}

Instant Codel::as_new_at(const Law& law) const {
  return count - before > 1 ? next + kRemembered * law.interval : Instant::min();
}

}  // namespace headgate
