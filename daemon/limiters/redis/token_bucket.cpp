#include "headgate/redis/token_bucket.hpp"

#include <array>

#include "exact.hpp"
#include "refusal.hpp"
#include "scripts.hpp"

namespace headgate::redis {

TokenBucket::TokenBucket(Connection& connection, std::string name, UnitRate rate, std::uint64_t burst)
    : keys_(connection, std::move(name)), burst_(burst) {
  const Parts parts = parts_of(rate);
  check_burst(burst, parts);
  const std::uint64_t most = kMostExact / parts.unit;
  if (burst > most) {
    throw std::invalid_argument("a token bucket of this rate counts a burst of " + std::to_string(most) +
                                " exactly, not of " + std::to_string(burst) + "; redis::Gcra does");
  }
  unit_ = parts.unit;
  microsecond_ = parts.microsecond;
}

Standing TokenBucket::ask(std::string_view key, std::uint64_t n, std::optional<Instant> now) {
  const bool possible = n <= burst_;
  const std::uint64_t own = possible ? n * unit_ : 0;
  const std::uint64_t burst = burst_ * unit_;
  const std::uint64_t numbers[] = {own, burst, microsecond_, unit_};
  std::array<std::int64_t, 3> answers{};  // passed, the level, how many microseconds the clock is behind it
  keys_.run(kTokenBucketScript, key, now, numbers, answers);

  const Int128 level = answers[1];
  const auto time_until = [&](Int128 wanted) {
    return wanted <= level ? Duration::zero()
                           : time_of(wanted - level, microsecond_) + microseconds(answers[2]);
  };
  const Refusal refusal = refusal_of(possible, answers[0]);
  return {refusal, burst_, whole_number(level / unit_), retry_after(refusal, time_until(own)),
          time_until(burst)};
}

}  // namespace headgate::redis
