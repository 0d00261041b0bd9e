#include "headgate/fixed_window.hpp"

#include <algorithm>
#include <stdexcept>

namespace headgate {

FixedWindow::FixedWindow(std::uint64_t limit, Duration length, Begin begin, Instant origin)
    : limit_(limit), length_(length), how_(begin), origin_(origin) {
  if (length < Duration{1}) throw std::invalid_argument("a window is at least 1 ns long");
}

void FixedWindow::roll(Instant now) {
  latest_ = std::max(latest_, now);
  const Int128 at = nanoseconds_of(latest_);
  if (used_ > 0 && at - begin_ >= length_.count()) used_ = 0;
  if (used_ > 0) return;
  const Int128 origin = nanoseconds_of(origin_);
  begin_ = how_ == Begin::first_event
               ? at
               : origin + rounded_down_quotient(at - origin, length_.count()) * length_.count();
}

Answer FixedWindow::allow(std::uint64_t n, Instant now) {
  if (n > limit_) return Refusal::too_many;
  roll(now);
  if (used_ > limit_ - n) return Refusal::not_now;
  used_ += n;
  return {};
}

std::uint64_t FixedWindow::left(Instant now) {
  roll(now);
  return limit_ - std::min(limit_, used_);
}

Instant FixedWindow::end(Instant now) {
  roll(now);
  if (how_ == Begin::first_event && used_ == 0) return latest_;
  return instant_at(begin_ + length_.count());
}

Instant FixedWindow::as_new_at() const {
  return used_ == 0 ? latest_ : instant_at(begin_ + length_.count());
}

}  // namespace headgate
