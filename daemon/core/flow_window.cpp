#include "core/flow_window.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "headgate/wide.hpp"

namespace headgate {

static_assert(std::is_trivially_copyable_v<FlowWindow> && std::is_trivially_copyable_v<FlowBucket>);
static_assert(sizeof(FlowWindow) == 24);  // what stands behind a bucket in its record begins at 28

FlowWindow FlowWindow::kept_in(const FlowBucket& state) {
  FlowWindow window;
  std::memcpy(static_cast<void*>(&window), &state, sizeof window);
  return window;
}

void FlowWindow::keep_in(FlowBucket& state) const {
  std::memcpy(static_cast<void*>(&state), this, sizeof *this);
}

// Of a new bucket only the first word, its begin, means anything: long ago, so nothing is left of the rest.
void FlowWindow::roll(const WindowLimit& limit, Instant now) {
  const Int128 length = limit.length.count();
  const auto begin = static_cast<std::int64_t>(rounded_down_quotient(nanoseconds_of(now), length) * length);
  if (begin <= begin_) return;
  last_ = begin - begin_ == length ? present_ : 0;
  present_ = 0;
  begin_ = begin;
}

Int128 FlowWindow::level(const WindowLimit& limit, Instant now) const {
  const Int128 length = limit.length.count();
  const Int128 present = Int128{present_} * length;
  if (!limit.slides) return present;
  const Int128 passed = std::max<Int128>(nanoseconds_of(now) - begin_, 0);
  return Int128{last_} * (length - passed) + present;
}

bool FlowWindow::allows(const WindowLimit& limit, std::uint64_t n, Instant now) const {
  FlowWindow then = *this;
  then.roll(limit, now);
  const Int128 length = limit.length.count();
  return then.level(limit, now) + Int128{n} * length <= Int128{limit.limit} * length;
}

void FlowWindow::charge(const WindowLimit& limit, std::uint64_t n, Instant now) {
  roll(limit, now);
  present_ += n;
}

bool FlowWindow::as_new(const WindowLimit& limit, Instant now) const {
  const int windows = limit.slides && present_ > 0 ? 2 : 1;
  return begin_ + windows * limit.length.count() <= now.time_since_epoch().count();
}

void FlowWindow::change(const WindowLimit& before, const WindowLimit& next, Instant now) {
  if (before.length == next.length) return;
  roll(before, now);
  const Int128 level_now = level(before, now);
  *this = {};
  roll(next, now);
  present_ = static_cast<std::uint64_t>(rounded_up_quotient(level_now, before.length.count()));
}

}  // namespace headgate
