// So many units in each window of time (fixed_window.hpp), for many processes and hosts.
//
// The server keeps when the window began and what has passed in it. A refusal and a request of 0 units, a look,
// write nothing. A request above the limit is refused as too_many. At the edge of two windows up to 2 × limit units
// may pass at once.
//
// Time is the server's clock. When that jumps ahead, the window ends sooner; when it goes back, the window lasts
// longer. A limiter with another limit or length may take over the keys: what has passed stays counted until the
// window ends.
//
// Errors: std::invalid_argument for a limit above 2^52, for a length that is not in whole microseconds of 1 us … 71
// years, and for what Keys does not take; redis::Error of allow(), which connection.hpp tells of.
#pragma once

#include "headgate/fixed_window.hpp"
#include "headgate/redis/keys.hpp"
#include "headgate/redis/standing.hpp"

namespace headgate::redis {

class FixedWindow {
 public:
  using Begin = headgate::FixedWindow::Begin;

  // Aligned windows begin at whole lengths from the clock's zero: of the server's, 1970-01-01 00:00 UTC.
  FixedWindow(Connection& connection, std::string name, std::uint64_t limit, Duration length,
              Begin begin = Begin::aligned);

  // May n units of this key pass now? All of them or none.
  Standing allow(std::string_view key, std::uint64_t n) { return ask(key, n, std::nullopt); }

  // The same at a given time, of 0 … 142 years, rounded down to the microsecond: for tests and simulations. The key
  // stays until it is deleted.
  Standing allow(std::string_view key, std::uint64_t n, Instant now) { return ask(key, n, now); }

 private:
  Standing ask(std::string_view key, std::uint64_t n, std::optional<Instant> now);

  Keys keys_;
  std::uint64_t limit_;
  std::uint64_t length_;  // microseconds
  Begin begin_;
};

}  // namespace headgate::redis
