#include "core/leaky_bucket.hpp"

#include <algorithm>

namespace headgate {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kBitsPerByte = 8;
constexpr std::int64_t kForever = std::int64_t{1} << 61;  // 73 years

}  // namespace

RateLimit::RateLimit(std::uint64_t rate, std::uint64_t numerator, std::uint64_t burst_units)
    : rate_(rate), numerator_(numerator), burst_units_(burst_units) {
  unit_ = {static_cast<std::int64_t>(numerator_ / rate_), numerator_ % rate_};
  burst_ = time_of(burst_units_);
}

// Of any number of units.
ExactTime RateLimit::long_time_of(std::uint64_t units) const {
  const unsigned __int128 product = static_cast<unsigned __int128>(units) * numerator_;
  const unsigned __int128 nanoseconds = product / rate_;
  if (nanoseconds > static_cast<unsigned __int128>(kForever)) return {kForever, 0};
  return {static_cast<std::int64_t>(nanoseconds), static_cast<std::uint64_t>(product % rate_)};
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

bool LeakyBucket::as_new(Instant now) const {
  return rounded_up({packets_next_, packets_remainder_}) <= now.time_since_epoch().count() &&
         rounded_up({bits_next_, bits_remainder_}) <= now.time_since_epoch().count();
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
