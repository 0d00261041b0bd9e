// A token bucket (token_bucket.hpp) for many processes and hosts. It admits what Gcra does, and keeps tokens, not a
// time.
//
// The server keeps the tokens at hand in whole parts, of which a token and a microsecond of the rate both have a
// whole number, and since when; so nothing is ever rounded. A refusal and a request of 0 units, a look, write
// nothing. A request above the burst is refused as too_many.
//
// Time is the server's clock. When that jumps ahead, a bucket gets the tokens of the time that it skips, to no more
// than the burst. When it goes back, it stands still until it has caught up; to begin anew at once, delete the
// keys. A limiter with another rate or burst may take over the keys: whole tokens stay, up to a smaller burst,
// until the server forgets the key: when the former bucket were full.
//
// Errors: std::invalid_argument for a burst of more than 2^53 parts (10^9 at 10 a minute; the text says how many
// may be), for a rate and a burst that Gcra does not take either, and for what Keys does not take; redis::Error of
// allow(), which connection.hpp tells of.
#pragma once

#include "headgate/redis/keys.hpp"
#include "headgate/redis/standing.hpp"
#include "headgate/units.hpp"

namespace headgate::redis {

class TokenBucket {
 public:
  TokenBucket(Connection& connection, std::string name, UnitRate rate, std::uint64_t burst);

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
