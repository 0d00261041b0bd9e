// What a script's answer means to the caller.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/answer.hpp"

namespace headgate::redis {

// `possible`: the request is not above the burst or limit. Else the script was asked for a look.
inline Refusal refusal_of(bool possible, std::int64_t passed) {
  if (!possible) return Refusal::too_many;
  return passed != 0 ? Refusal::none : Refusal::not_now;
}

inline std::optional<Duration> retry_after(Refusal refusal, Duration wait) {
  if (refusal == Refusal::too_many) return std::nullopt;
  return refusal == Refusal::none ? Duration::zero() : wait;
}

}  // namespace headgate::redis
