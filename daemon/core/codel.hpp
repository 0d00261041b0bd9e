// Controlled delay (RFC 8289): whether the packet at the head of a queue is one too many.
//
// A queue whose packets have all waited longer than `target` for an `interval` loses one; then the n-th after
// interval / sqrt(n) more, until a packet has waited less.
#pragma once

#include <cstdint>

#include "headgate/clock.hpp"

namespace headgate {

// interval / sqrt(count); count is not 0.
Duration codel_interval(Duration interval, std::uint32_t count);

struct Codel {
  struct Law {
    Duration target;
    Duration interval;
  };

  // To be asked for each packet that comes to the head; when it goes, for the next one at once. `waited`: since its
  // arrival. `last`: none stands behind it, so its queue is as short as can be.
  bool is_one_too_many(Duration waited, bool last, const Law& law, Instant now);

  // The queue has no packets any more.
  void note_empty() {
    above_at = {};
    dropping = false;
  }

  Instant above_at{};        // when it will have been above the target for an interval; 0: it is not above
  Instant next{};            // when the next one goes, while dropping
  std::uint32_t count = 0;   // that went since it began to drop
  std::uint32_t before = 0;  // `count` when it began
  bool dropping = false;
};

}  // namespace headgate
