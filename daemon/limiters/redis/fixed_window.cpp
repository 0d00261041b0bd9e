#include "headgate/redis/fixed_window.hpp"

#include <array>

#include "exact.hpp"
#include "refusal.hpp"
#include "scripts.hpp"

namespace headgate::redis {

FixedWindow::FixedWindow(Connection& connection, std::string name, std::uint64_t limit, Duration length,
                         Begin begin)
    : keys_(connection, std::move(name)), limit_(limit), length_(window_length(length)), begin_(begin) {
  if (limit > kMostSummed) throw std::invalid_argument("a limit shared by Redis is at most 2^52");
}

Standing FixedWindow::ask(std::string_view key, std::uint64_t n, std::optional<Instant> now) {
  const bool possible = n <= limit_;
  const std::uint64_t numbers[] = {possible ? n : 0, limit_, length_, begin_ == Begin::first_event};
  std::array<std::int64_t, 3> answers{};  // passed, units used, microseconds until the window's end
  keys_.run(kFixedWindowScript, key, now, numbers, answers);

  const auto used = static_cast<std::uint64_t>(answers[1]);
  const Refusal refusal = refusal_of(possible, answers[0]);
  const Duration left = microseconds(answers[2]);
  return {refusal, limit_, limit_ - std::min(limit_, used), retry_after(refusal, left),
          used == 0 ? Duration::zero() : left};
}

}  // namespace headgate::redis
