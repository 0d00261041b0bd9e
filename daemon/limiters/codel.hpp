// Controlled delay (RFC 8289): whether the packet at the head of a queue is one too many.
//
// A queue whose packets have all waited longer than `target` for an `interval` loses one; then the n-th after
// interval / sqrt(n) more, until a packet has waited less.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headgate/clock.hpp"
#include "headgate/cost.hpp"

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

  // From when on a new one in place of this would say the same, if the queue stays empty until then.
  Instant as_new_at(const Law& law) const;

  Instant above_at{};        // when it will have been above the target for an interval; 0: it is not above
  Instant next{};            // when the next one goes, while dropping
  std::uint32_t count = 0;   // that went since it began to drop
  std::uint32_t before = 0;  // `count` when it began
  bool dropping = false;
};

// A packet always waits for the one before it: at a target below one and a half of them any slow bucket would be called bad.
// `parameters` are those of the flow's bucket (limiters/flow_bucket.hpp).
template <typename Parameters>
Duration least_codel_target(const Parameters& parameters, const Cost& cost) {
  std::int64_t packet = 0;
  if (parameters.packets.set()) packet = parameters.packets.time_of(cost.packets).nanoseconds;
  if (parameters.bits.set())
    packet = std::max(packet, parameters.bits.time_of(parameters.link_bytes(cost)).nanoseconds);
  return Duration{packet + packet / 2};
}

}  // namespace headgate
