// What a limiter shared by Redis says: the Answer that a local one gives, and how things stand after it, from one
// round trip.
#pragma once

#include <cstdint>
#include <optional>

#include "headgate/answer.hpp"

namespace headgate::redis {

// Durations are whole microseconds, the server's clock, rounded up: who comes again then is not too early.
struct Standing : Answer {
  std::uint64_t limit = 0;              // the burst, or the limit of a window
  std::uint64_t remaining = 0;          // units that would pass now
  std::optional<Duration> retry_after;  // until the request would pass if nobody else came; nothing: never
  Duration reset_after{};               // until the limiter is as new, if nobody came
};

}  // namespace headgate::redis
