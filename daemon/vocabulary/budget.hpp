// A budget: one rate that headgated daemons on several hosts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "headgate/clock.hpp"
#include "headgate/units.hpp"

namespace headgate {

// What the hosts agree on. All of them are to say the same; while they do not, the strictest holds.
struct BudgetTerms {
  BitRate rate;             // of all hosts together
  BitRate floor;            // of a host that is cut off; hosts × floor is at most the rate
  std::uint32_t hosts = 1;  // the most daemons that share it at a time
  Duration lease{};         // how long a host may use what it was granted, from when it asked
  bool operator==(const BudgetTerms&) const = default;
};

// What a host sends that is cut off, once its lease is over. Only with floor do all hosts together keep the rate.
enum class OnLoss : std::uint8_t {
  floor,
  hold,  // what it was granted last
  open,  // all
};

// As the configuration says it.
struct BudgetConfig {
  std::string name;
  BudgetTerms terms;
  OnLoss on_loss = OnLoss::floor;
  std::string redis;          // "unix:/run/redis/redis.sock", "host:port"
  std::string password_file;  // empty: no password
  bool operator==(const BudgetConfig&) const = default;
};

inline constexpr std::size_t kMaxBudgets = 1000;  // of a host

}  // namespace headgate
