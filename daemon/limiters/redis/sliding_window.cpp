#include "headgate/redis/sliding_window.hpp"

#include <array>
#include <stdexcept>

#include "exact.hpp"
#include "refusal.hpp"
#include "scripts.hpp"

namespace headgate::redis {
namespace {

// The counters of two windows, and the time since the present one began; lengths and times in microseconds.
struct Counters {
  Int128 limit;
  Int128 length;
  Int128 last;
  Int128 present;
  Int128 passed;

  Int128 left() const { return (limit * length - last * (length - passed) - present * length) / length; }

  // How long until n units fit that do not now, if nobody else comes: in this window as the last one's share
  // shrinks, or in the next one.
  Int128 wait(Int128 n) const {
    const Int128 room = limit - present - n;
    if (room >= 0) return std::max<Int128>(0, when_in_window(last, room) - passed);
    return length - passed + when_in_window(present, limit - n);
  }

  // The time in a window from which the share of `units` in the window before is at most `room`.
  Int128 when_in_window(Int128 units, Int128 room) const {
    return units <= room ? 0 : length - room * length / units;
  }

  Int128 as_new() const { return present > 0 ? 2 * length - passed : last > 0 ? length - passed : 0; }
};

}  // namespace

SlidingLog::SlidingLog(Connection& connection, std::string name, std::uint64_t limit, Duration length)
    : keys_(connection, std::move(name)), limit_(limit), length_(window_length(length)) {
  if (limit > kMostSummed / 2)
    throw std::invalid_argument("a limit of a log shared by Redis is at most 2^51");
}

Standing SlidingLog::ask(std::string_view key, std::uint64_t n, std::optional<Instant> now) {
  const bool possible = n <= limit_;
  const std::uint64_t numbers[] = {possible ? n : 0, limit_, length_};
  std::array<std::int64_t, 4>
      answers{};  // passed, units used, microseconds until it would pass, until all is as new
  keys_.run(kSlidingLogScript, key, now, numbers, answers);

  const auto used = static_cast<std::uint64_t>(answers[1]);
  const Refusal refusal = refusal_of(possible, answers[0]);
  return {refusal, limit_, limit_ - std::min(limit_, used), retry_after(refusal, microseconds(answers[2])),
          used == 0 ? Duration::zero() : microseconds(answers[3])};
}

SlidingCounters::SlidingCounters(Connection& connection, std::string name, std::uint64_t limit,
                                 Duration length)
    : keys_(connection, std::move(name)), limit_(limit), length_(window_length(length)) {
  const std::uint64_t most = kMostSummed / length_;
  if (limit > most) {
    throw std::invalid_argument("counters of windows this long count a limit of " + std::to_string(most) +
                                " exactly, not of " + std::to_string(limit) + "; redis::SlidingLog does");
  }
}

Standing SlidingCounters::ask(std::string_view key, std::uint64_t n, std::optional<Instant> now) {
  const bool possible = n <= limit_;
  const std::uint64_t numbers[] = {possible ? n : 0, limit_, length_};
  std::array<std::int64_t, 4> answers{};  // passed, the counters, the microseconds since the window began
  keys_.run(kSlidingCountersScript, key, now, numbers, answers);

  const Int128 behind =
      std::max<Int128>(0, -answers[3]);  // the clock has gone back, before the window's begin
  const Counters counters{limit_, length_, answers[1], answers[2], std::max<Int128>(0, answers[3])};
  const Int128 as_new = counters.as_new();
  const Refusal refusal = refusal_of(possible, answers[0]);
  const Int128 wait = refusal == Refusal::not_now ? counters.wait(n) + behind : 0;
  return {refusal, limit_, whole_number(counters.left()), retry_after(refusal, microseconds(wait)),
          as_new == 0 ? Duration::zero() : microseconds(as_new + behind)};
}

}  // namespace headgate::redis
