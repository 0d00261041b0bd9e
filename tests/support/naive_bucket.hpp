// The bucket of the design once more, as plainly as it can be said, to compare the real one with: exact
// fractions, every packet charged the moment it is accepted, all departures of the queue kept in a list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "headgate/cost.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// One rate; times are numerators over `rate`.
class NaiveLimit {
 public:
  using Wide = __int128;

  NaiveLimit(std::uint64_t rate, std::uint64_t unit, std::uint64_t burst)
      : rate_(rate), unit_(unit), burst_(burst) {}

  std::int64_t earliest(std::uint64_t size) const {
    const Wide tolerance = size < burst_ ? Wide(burst_ - size) * unit_ : 0;
    return rounded_up(next_ - tolerance);
  }
  void charge(std::int64_t departure, std::uint64_t size) {
    if (departure > rounded_up(next_)) next_ = Wide(departure) * rate_;
    next_ += Wide(size) * unit_;
  }

 private:
  std::int64_t rounded_up(Wide time) const {
    return static_cast<std::int64_t>(time <= 0 ? -(-time / rate_) : (time + rate_ - 1) / rate_);
  }

  Wide rate_;
  Wide unit_;
  std::uint64_t burst_;
  Wide next_ = 0;
};

class NaiveBucket {
 public:
  NaiveBucket(const Rate& rate, const Burst& burst, const QueueCapacity& queue) : queue_(queue) {
    if (rate.packets) {
      packets_.emplace(rate.packets->packets, rate.packets->seconds * 1'000'000'000ULL,
                       burst.packets.value_or(1));
    }
    if (rate.bits)
      bits_.emplace(rate.bits->bits_per_second, 8'000'000'000, burst.bytes.value_or(DataSize{}).bytes);
  }

  // When the packet leaves; none: dropped. Exact for a time capacity only with a single rate.
  std::optional<Instant> arrive(Instant instant, Cost size) {
    const std::int64_t arrival = instant.time_since_epoch().count();
    while (!waiting_.empty() && waiting_.front().departure <= arrival) waiting_.pop_front();
    std::int64_t departure = std::max(arrival, last_departure_);
    if (packets_) departure = std::max(departure, packets_->earliest(size.packets));
    if (bits_) departure = std::max(departure, bits_->earliest(size.bytes));
    if (departure > arrival && !fits(size, departure - arrival)) return std::nullopt;
    if (packets_) packets_->charge(departure, size.packets);
    if (bits_) bits_->charge(departure, size.bytes);
    waiting_.push_back({departure, size});
    last_departure_ = departure;
    return Instant{Duration{departure}};
  }

 private:
  struct Waiting {
    std::int64_t departure;
    Cost size;
  };

  bool fits(Cost size, std::int64_t wait) const {
    for (const Waiting& each : waiting_) {
      size.packets += each.size.packets;
      size.bytes += each.size.bytes;
    }
    return (!queue_.packets || size.packets <= *queue_.packets) &&
           (!queue_.bytes || size.bytes <= queue_.bytes->bytes) &&
           (!queue_.time || wait <= queue_.time->count());
  }

  QueueCapacity queue_;
  std::optional<NaiveLimit> packets_;
  std::optional<NaiveLimit> bits_;
  std::deque<Waiting> waiting_;
  std::int64_t last_departure_ = 0;
};

}  // namespace headgate
