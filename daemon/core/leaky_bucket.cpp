#include "core/leaky_bucket.hpp"

#include <algorithm>

namespace headgate {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kBitsPerByte = 8;
constexpr std::int64_t kForever = std::int64_t{1} << 61;  // 73 years
// So many units times 8·10^9 fit 64 bits.
constexpr std::uint64_t kFewUnits = std::uint64_t{1} << 30;

std::int64_t rounded_up(const ExactTime& time) {
  return time.nanoseconds + (time.remainder != 0 ? 1 : 0);
}

std::int64_t count(Instant instant) {
  return instant.time_since_epoch().count();
}

}  // namespace

RateLimit::RateLimit(std::uint64_t rate, std::uint64_t numerator, std::uint64_t burst_units)
    : rate_(rate), numerator_(numerator), burst_units_(burst_units) {
  unit_ = {static_cast<std::int64_t>(numerator_ / rate_), numerator_ % rate_};
  burst_ = cost(burst_units_);
}

ExactTime RateLimit::cost(std::uint64_t units) const {
  if (units == 1) return unit_;
  if (units < kFewUnits) {
    const std::uint64_t product = units * numerator_;
    return {static_cast<std::int64_t>(product / rate_), product % rate_};
  }
  const unsigned __int128 product = static_cast<unsigned __int128>(units) * numerator_;
  const unsigned __int128 nanoseconds = product / rate_;
  if (nanoseconds > static_cast<unsigned __int128>(kForever)) return {kForever, 0};
  return {static_cast<std::int64_t>(nanoseconds), static_cast<std::uint64_t>(product % rate_)};
}

std::int64_t RateLimit::earliest(const ExactTime& next, std::uint64_t units) const {
  if (units >= burst_units_) return rounded_up(next);
  const ExactTime own = cost(units);
  // next - (burst - own) in whole nanoseconds and two fractions: next + own in (0, 2), less burst in [0, 1).
  const std::int64_t whole = next.nanoseconds - burst_.nanoseconds + own.nanoseconds;
  const std::uint64_t gained = next.remainder + own.remainder;
  if (gained <= burst_.remainder) return whole;
  return whole + (gained - burst_.remainder <= rate_ ? 1 : 2);
}

ExactTime RateLimit::after(const ExactTime& next, std::int64_t departure, std::uint64_t units) const {
  // A departure at `next` rounded up is one at `next`: else each rounding would push the schedule.
  const ExactTime from = departure > rounded_up(next) ? ExactTime{departure, 0} : next;
  const ExactTime own = cost(units);
  ExactTime sum{from.nanoseconds + own.nanoseconds, from.remainder + own.remainder};
  if (sum.remainder >= rate_) {
    sum.remainder -= rate_;
    ++sum.nanoseconds;
  }
  return sum;
}

BucketParameters::BucketParameters(const Rate& rate, const Burst& burst, const LinkLayer& link)
    : link_layer(link) {
  if (rate.packets) {
    packets = RateLimit(rate.packets->packets_per_second, kNanosecondsPerSecond, burst.packets.value_or(1));
  }
  if (rate.bits) {
    bits = RateLimit(rate.bits->bits_per_second, kBitsPerByte * kNanosecondsPerSecond,
                     burst.bytes.value_or(DataSize{}).bytes);
  }
}

std::uint64_t BucketParameters::link_bytes(const Count& charge) const {
  const auto overhead = static_cast<std::int64_t>(charge.packets) * link_layer.overhead;
  const std::int64_t bytes = static_cast<std::int64_t>(charge.bytes) + overhead;
  const std::uint64_t least = charge.packets * std::max(1u, link_layer.mpu);
  return std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)), least);
}

Instant LeakyBucket::departure(const BucketParameters& parameters, Instant arrival,
                               const Count& charge) const {
  std::int64_t departure = count(arrival);
  if (parameters.packets.set()) {
    departure =
        std::max(departure, parameters.packets.earliest({packets_next_, packets_remainder_}, charge.packets));
  }
  if (parameters.bits.set()) {
    departure = std::max(
        departure, parameters.bits.earliest({bits_next_, bits_remainder_}, parameters.link_bytes(charge)));
  }
  return Instant{Duration{departure}};
}

void LeakyBucket::charge(const BucketParameters& parameters, Instant departure, const Count& charge) {
  if (parameters.packets.set()) {
    const ExactTime next =
        parameters.packets.after({packets_next_, packets_remainder_}, count(departure), charge.packets);
    packets_next_ = next.nanoseconds;
    packets_remainder_ = static_cast<std::uint32_t>(next.remainder);
  }
  if (parameters.bits.set()) {
    const ExactTime next =
        parameters.bits.after({bits_next_, bits_remainder_}, count(departure), parameters.link_bytes(charge));
    bits_next_ = next.nanoseconds;
    bits_remainder_ = next.remainder;
  }
}

bool LeakyBucket::as_new(Instant now) const {
  return rounded_up({packets_next_, packets_remainder_}) <= count(now) &&
         rounded_up({bits_next_, bits_remainder_}) <= count(now);
}

void LeakyBucket::change(const BucketParameters& parameters) {
  // Fractions of the old rate mean nothing at the new one.
  const std::int64_t packets_next = rounded_up({packets_next_, packets_remainder_});
  const std::int64_t bits_next = rounded_up({bits_next_, bits_remainder_});
  const std::int64_t latest = std::max(packets_next, bits_next);
  // A limit that is new takes over where the other one stood.
  packets_next_ = !parameters.packets.set() ? kLongAgo : packets_next == kLongAgo ? latest : packets_next;
  bits_next_ = !parameters.bits.set() ? kLongAgo : bits_next == kLongAgo ? latest : bits_next;
  packets_remainder_ = 0;
  bits_remainder_ = 0;
}

}  // namespace headgate
