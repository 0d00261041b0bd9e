#include "headgate/redis/gcra.hpp"

#include <array>

#include "exact.hpp"
#include "refusal.hpp"
#include "scripts.hpp"

namespace headgate::redis {

Gcra::Gcra(Connection& connection, std::string name, UnitRate rate, std::uint64_t burst)
    : keys_(connection, std::move(name)), burst_(burst) {
  const Parts parts = parts_of(rate);
  check_burst(burst, parts);
  unit_ = parts.unit;
  microsecond_ = parts.microsecond;
}

Standing Gcra::ask(std::string_view key, std::uint64_t n, std::optional<Instant> now) {
  const bool possible = n <= burst_;
  const Int128 own = possible ? Int128{n} * unit_ : 0;
  const Int128 burst = Int128{burst_} * unit_;
  const std::uint64_t numbers[] = {whole_number(own / microsecond_), whole_number(own % microsecond_),
                                   whole_number(burst / microsecond_), whole_number(burst % microsecond_),
                                   microsecond_};
  std::array<std::int64_t, 3> answers{};  // passed; when it is as new: microseconds from now, and parts
  keys_.run(kGcraScript, key, now, numbers, answers);

  const Int128 as_new = Int128{answers[1]} * microsecond_ + answers[2];
  const Refusal refusal = refusal_of(possible, answers[0]);
  return {refusal, burst_, whole_number((burst - as_new) / unit_),
          retry_after(refusal, time_of(as_new + own - burst, microsecond_)), time_of(as_new, microsecond_)};
}

}  // namespace headgate::redis
