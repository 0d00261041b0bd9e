// The keys of one limiter at a Redis server: "name:key", one for each key that has something to pay or to count.
//
// The server forgets a key by itself when its limiter is as a new one again, no sooner; as it is when it is asked, or
// was when it last wrote, where another one takes over the keys. Where it may evict keys for
// want of memory, their debts are forgiven: maxmemory-policy noeviction keeps them. Errors: std::invalid_argument
// for a name and a key of more than kLongestKey bytes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/clock.hpp"
#include "headgate/redis/connection.hpp"

namespace headgate::redis {

class Keys {
 public:
  static constexpr std::size_t kLongestKey = 512;

  // `connection` outlives this.
  Keys(Connection& connection, std::string name);

  // Runs a limiter's script on the state of `key`: at the server's time, or at `now`, and then without an expiry.
  void run(const Script& script, std::string_view key, std::optional<Instant> now,
           std::span<const std::uint64_t> numbers, std::span<std::int64_t> results) const;

 private:
  Connection* connection_;
  std::string name_;
};

}  // namespace headgate::redis
