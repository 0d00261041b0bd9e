// So many units in a window of time that slides (sliding_window.hpp), for many processes and hosts.
//
// SlidingLog is exact: in no time of the window's length more than the limit passes. The server keeps about 100
// bytes for each request that has passed in the window; a request takes O(log of their number), a refusal O(log²).
//
// SlidingCounters keeps two counters, of the present and the last aligned window, and takes what has passed in the
// last one as evenly spread: an estimate, computed exactly.
//
// A refusal and a request of 0 units, a look, write nothing. A request above the limit is refused as too_many.
//
// Time is the server's clock. When that jumps ahead, what has passed leaves the window sooner; when it goes back,
// later. A limiter with another limit or length may take over the keys: what has passed
// stays counted until the server forgets the key, which it does by the time of the former one.
//
// Errors: std::invalid_argument for a length that is not in whole microseconds of 1 us … 71 years, for a limit of
// SlidingLog above 2^51, for SlidingCounters whose limit times the length in microseconds is above 2^52 (52 000 a
// day, a million an hour, 75 million a minute), and for what Keys does not take; redis::Error of allow(), which
// connection.hpp tells of.
#pragma once

#include "headgate/redis/keys.hpp"
#include "headgate/redis/standing.hpp"

namespace headgate::redis {

class SlidingLog {
 public:
  SlidingLog(Connection& connection, std::string name, std::uint64_t limit, Duration length);

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
};

class SlidingCounters {
 public:
  // Windows begin at whole lengths from the clock's zero: of the server's, 1970-01-01 00:00 UTC.
  SlidingCounters(Connection& connection, std::string name, std::uint64_t limit, Duration length);

  // As those of SlidingLog.
  Standing allow(std::string_view key, std::uint64_t n) { return ask(key, n, std::nullopt); }
  Standing allow(std::string_view key, std::uint64_t n, Instant now) { return ask(key, n, now); }

 private:
  Standing ask(std::string_view key, std::uint64_t n, std::optional<Instant> now);

  Keys keys_;
  std::uint64_t limit_;
  std::uint64_t length_;  // microseconds
};

}  // namespace headgate::redis
