// The generic cell rate algorithm (gcra.hpp) for many processes and hosts: may it pass now, and how do things
// stand?
//
// The server keeps when a unit may pass without using any burst, in whole microseconds and a remainder over the
// rate, so no rate drifts. A refusal and a request of 0 units, a look, write nothing. A request above the burst is
// refused as too_many.
//
// These are the five answers of redis-cell's CL.THROTTLE key max_burst count period quantity, from Gcra({count,
// period}, max_burst + 1):
//
//     limited           0 if the Standing is true, else 1
//     limit             limit
//     remaining         remaining
//     retry after       -1 if it is true or retry_after is nothing, else retry_after in whole seconds, rounded up
//     reset after       reset_after in whole seconds, rounded up
//
// Time is the server's clock. When that jumps ahead, buckets fill up as in the time that it skips, to no more than
// the burst. When it goes back, buckets that are in use bring nothing until it has caught up; to begin anew at
// once, delete their keys. A limiter with another rate or burst may take over the keys: what has passed stays
// charged, as time.
//
// Errors: std::invalid_argument for a rate of too many units in lowest terms (up to 4·10^12 are always well), for a
// burst that takes 71 years or more at it, and for what Keys does not take; redis::Error of allow(), which
// connection.hpp tells of.
#pragma once

#include "headgate/redis/keys.hpp"
#include "headgate/redis/standing.hpp"
#include "headgate/units.hpp"

namespace headgate::redis {

class Gcra {
 public:
  Gcra(Connection& connection, std::string name, UnitRate rate, std::uint64_t burst);

  // May n units of this key pass now? All of them or none.
  Standing allow(std::string_view key, std::uint64_t n) { return ask(key, n, std::nullopt); }

  // The same at a given time, of 0 … 142 years, rounded down to the microsecond: for tests and simulations. The key
  // stays until it is deleted.
  Standing allow(std::string_view key, std::uint64_t n, Instant now) { return ask(key, n, now); }

 private:
  Standing ask(std::string_view key, std::uint64_t n, std::optional<Instant> now);

  Keys keys_;
  std::uint64_t burst_;
  std::uint64_t unit_;         // parts
  std::uint64_t microsecond_;  // parts
};

}  // namespace headgate::redis
