#include "headgate/redis/keys.hpp"

#include <stdexcept>

namespace headgate::redis {
namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 52;  // microseconds: twice as many are still exact

std::string microseconds_of(Instant now) {
  const auto time = std::chrono::floor<std::chrono::microseconds>(now.time_since_epoch()).count();
  if (time < 0 || time > kLatest)
    throw std::invalid_argument("a time is 0 … 142 years after the clock's zero");
  return std::to_string(time);
}

}  // namespace

Keys::Keys(Connection& connection, std::string name) : connection_(&connection), name_(std::move(name)) {
  if (name_.empty() || name_.size() >= kLongestKey) {
    throw std::invalid_argument("a limiter's name has 1 … 511 bytes, not " + std::to_string(name_.size()));
  }
  name_ += ':';
}

void Keys::run(const Script& script, std::string_view key, std::optional<Instant> now,
               std::span<const std::uint64_t> numbers, std::span<std::int64_t> results) const {
  if (name_.size() + key.size() > kLongestKey) {
    throw std::invalid_argument("a key of limiter '" + name_.substr(0, name_.size() - 1) + "' has at most " +
                                std::to_string(kLongestKey - name_.size()) + " bytes, not " +
                                std::to_string(key.size()));
  }
  std::vector<std::string> arguments{now ? microseconds_of(*now) : ""};
  for (const std::uint64_t number : numbers) arguments.push_back(std::to_string(number));
  connection_->run(script, name_ + std::string(key), arguments, results);
}

}  // namespace headgate::redis
