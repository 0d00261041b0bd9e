#include "core/bucket_parameters.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "support/manual_clock.hpp"
#include "support/naive_bucket.hpp"

namespace headgate {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

Rate packet_rate(std::uint64_t rate) {
  return {.packets = PacketRate{rate}};
}
Rate bit_rate(std::uint64_t rate) {
  return {.bits = BitRate{rate}};
}

// Sends what costs `cost` as soon as it may after `arrival`.
Instant send(FlowBucket& bucket, const BucketParameters& parameters, Instant arrival, Cost cost = {1, 100}) {
  const Instant departure = bucket.earliest(parameters, cost, arrival);
  bucket.commit(parameters, cost, departure);
  return departure;
}

TEST(FlowBucket, SpacesPacketsEvenlyAtItsRate) {
  const BucketParameters parameters(packet_rate(1000), {});
  FlowBucket bucket;
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(send(bucket, parameters, kTestStart), kTestStart + i * milliseconds(1));
}

TEST(FlowBucket, LetsAPacketGoAtOnceWhenTheRateAllowsIt) {
  const BucketParameters parameters(packet_rate(1000), {});
  FlowBucket bucket;
  EXPECT_EQ(send(bucket, parameters, kTestStart), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart + milliseconds(5)), kTestStart + milliseconds(5));
  EXPECT_EQ(send(bucket, parameters, kTestStart + milliseconds(6)), kTestStart + milliseconds(6));
}

TEST(FlowBucket, GivesNoBurstAfterIdle) {
  const BucketParameters parameters(packet_rate(1000), {.packets = 1});
  FlowBucket bucket;
  send(bucket, parameters, kTestStart);
  const Instant later = kTestStart + seconds(100);
  EXPECT_EQ(send(bucket, parameters, later), later);
  EXPECT_EQ(send(bucket, parameters, later), later + milliseconds(1));
  EXPECT_EQ(send(bucket, parameters, later), later + milliseconds(2));
}

TEST(FlowBucket, SpacesByBytesAtABitRate) {
  const BucketParameters parameters(bit_rate(8'000'000), {});  // a byte a microsecond
  FlowBucket bucket;
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 1500}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 100}), kTestStart + nanoseconds(1'500'000));
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 100}), kTestStart + nanoseconds(1'600'000));
}

TEST(FlowBucket, ObeysBothRatesAtOnce) {
  const BucketParameters parameters({.packets = PacketRate{1000}, .bits = BitRate{8'000'000}}, {});
  FlowBucket bucket;
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 1500}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 60}), kTestStart + nanoseconds(1'500'000));
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 60}), kTestStart + nanoseconds(2'500'000));
}

TEST(FlowBucket, LetsABurstOfPacketsGoAfterIdleAndThenKeepsTheRate) {
  const BucketParameters parameters(packet_rate(1000), {.packets = 3});
  FlowBucket bucket;
  for (const Instant start : {kTestStart, kTestStart + seconds(10)}) {
    for (const int delay : {0, 0, 0, 1, 2, 3}) {
      EXPECT_EQ(send(bucket, parameters, start), start + milliseconds(delay));
    }
  }
}

TEST(FlowBucket, LetsABurstOfBytesGoAfterIdleAndNotAByteMore) {
  const BucketParameters parameters(bit_rate(8'000'000), {.bytes = DataSize{1000}});
  FlowBucket bucket;
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 400}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 600}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 1}), kTestStart + nanoseconds(1'000));
}

TEST(FlowBucket, SpacesAPacketLongerThanItsBurst) {
  const BucketParameters parameters(bit_rate(8'000'000), {.bytes = DataSize{1000}});
  FlowBucket bucket;
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 1500}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 1500}), kTestStart + nanoseconds(1'500'000));
}

TEST(FlowBucket, ChargesASuperPacketForEachOfItsSegments) {
  const BucketParameters parameters(packet_rate(1000), {.packets = 10});
  FlowBucket bucket;
  EXPECT_EQ(send(bucket, parameters, kTestStart, {7, 9000}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {3, 4000}), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart, {4, 5000}), kTestStart + milliseconds(4));
}

TEST(FlowBucket, SendsThreePacketsASecondForAYearWithoutDrift) {
  const BucketParameters parameters(packet_rate(3), {});
  FlowBucket bucket;
  constexpr std::int64_t kPackets = 3LL * 86'400 * 365;
  Instant departure = kTestStart;
  for (std::int64_t i = 0; i <= kPackets; ++i) departure = send(bucket, parameters, kTestStart);
  EXPECT_EQ(departure, kTestStart + days(365));
}

TEST(FlowBucket, KeepsTwoRatesThatAllowExactlyTheSameFromPushingEachOther) {
  // 7 packets of 125 bytes a second are 7000 bits.
  const BucketParameters parameters({.packets = PacketRate{7}, .bits = BitRate{7000}}, {});
  FlowBucket bucket;
  Instant departure = kTestStart;
  for (int i = 0; i <= 7'000'000; ++i) departure = send(bucket, parameters, kTestStart, {1, 125});
  EXPECT_EQ(departure, kTestStart + seconds(1'000'000));
}

TEST(FlowBucket, ReachesFourHundredGigabitsASecond) {
  const BucketParameters parameters(bit_rate(kMaxBitRate.bits_per_second), {});
  FlowBucket bucket;
  Instant departure = kTestStart;
  // 400 Gbit/s are 50 000 000 frames of 1000 bytes a second.
  for (int i = 0; i <= 5'000'000; ++i) departure = send(bucket, parameters, kTestStart, {1, 1000});
  EXPECT_EQ(departure, kTestStart + milliseconds(100));
}

TEST(FlowBucket, ReachesAThousandMillionPacketsASecond) {
  const BucketParameters parameters(packet_rate(kMaxPacketRate.packets), {});
  FlowBucket bucket;
  Instant departure = kTestStart;
  for (int i = 0; i <= 1'000'000; ++i) departure = send(bucket, parameters, kTestStart);
  EXPECT_EQ(departure, kTestStart + milliseconds(1));
}

TEST(FlowBucket, WaitsLongAtOneBitASecond) {
  const BucketParameters parameters(bit_rate(1), {});
  FlowBucket bucket;
  send(bucket, parameters, kTestStart, {1, 70'000});
  EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 70'000}), kTestStart + seconds(560'000));
}

TEST(FlowBucket, TakesAnAbsurdBurstForForever) {
  const BucketParameters parameters(bit_rate(1), {.bytes = DataSize{UINT64_MAX}});
  FlowBucket bucket;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(send(bucket, parameters, kTestStart, {1, 70'000}), kTestStart);
}

TEST(FlowBucket, IsAsNewOnceItsScheduleIsPast) {
  const BucketParameters parameters(packet_rate(3), {.packets = 2});
  FlowBucket bucket;
  EXPECT_TRUE(bucket.as_new(kTestStart));
  send(bucket, parameters, kTestStart);
  EXPECT_FALSE(bucket.as_new(kTestStart + nanoseconds(333'333'333)));
  EXPECT_TRUE(bucket.as_new(kTestStart + nanoseconds(333'333'334)));
}

TEST(FlowBucket, WaitsAtTheNewRateFromTheChangeOnWhereThatIsHigher) {
  const BucketParameters slow(packet_rate(4), {});
  const BucketParameters fast(packet_rate(1000), {});
  FlowBucket bucket;
  send(bucket, slow, kTestStart);
  bucket.change(slow, fast, kTestStart + milliseconds(125));
  const Instant half_a_packet_later = kTestStart + milliseconds(125) + std::chrono::microseconds(500);
  EXPECT_EQ(send(bucket, fast, kTestStart), half_a_packet_later);
  EXPECT_EQ(send(bucket, fast, kTestStart), half_a_packet_later + milliseconds(1));
}

TEST(FlowBucket, WaitsAsLongAsBeforeAtALowerRateAndThenByThat) {
  const BucketParameters slow(packet_rate(4), {});
  const BucketParameters fast(packet_rate(1000), {});
  FlowBucket bucket;
  send(bucket, fast, kTestStart);
  bucket.change(fast, slow, kTestStart);
  EXPECT_EQ(send(bucket, slow, kTestStart), kTestStart + milliseconds(1));
  EXPECT_EQ(send(bucket, slow, kTestStart), kTestStart + milliseconds(251));
}

TEST(FlowBucket, ASmallerBurstMakesNoDebtOfWhatTheLargerOneLetGo) {
  const BucketParameters before(packet_rate(100), {.packets = 1000});
  const BucketParameters after(packet_rate(1000), {});
  FlowBucket bucket;
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(send(bucket, before, kTestStart), kTestStart);
  EXPECT_EQ(send(bucket, before, kTestStart), kTestStart + milliseconds(10));
  bucket.change(before, after, kTestStart + milliseconds(10));
  EXPECT_EQ(send(bucket, after, kTestStart), kTestStart + milliseconds(11));
  EXPECT_EQ(send(bucket, after, kTestStart), kTestStart + milliseconds(12));
}

TEST(FlowBucket, ASmallerBurstTakesCreditAway) {
  const BucketParameters before(packet_rate(100), {.packets = 1000});
  const BucketParameters after(packet_rate(100), {.packets = 2});
  FlowBucket bucket;
  for (int i = 0; i < 500; ++i) send(bucket, before, kTestStart);
  bucket.change(before, after, kTestStart);
  EXPECT_EQ(send(bucket, after, kTestStart), kTestStart);
  EXPECT_EQ(send(bucket, after, kTestStart), kTestStart);
  EXPECT_EQ(send(bucket, after, kTestStart), kTestStart + milliseconds(10));
}

TEST(FlowBucket, CarriesItsScheduleOverToAnotherKindOfRate) {
  const BucketParameters packets(packet_rate(10), {});
  const BucketParameters bits(bit_rate(8'000'000), {});
  FlowBucket bucket;
  send(bucket, packets, kTestStart);
  bucket.change(packets, bits, kTestStart);
  EXPECT_EQ(send(bucket, bits, kTestStart, {1, 1000}), kTestStart + milliseconds(100));
  bucket.change(bits, packets, kTestStart);
  EXPECT_EQ(send(bucket, packets, kTestStart, {1, 1000}), kTestStart + milliseconds(101));
}

TEST(FlowBucket, SpacesLessThanAPacketASecondExactly) {
  const BucketParameters parameters({.packets = PacketRate{7, 3'600}}, {});
  FlowBucket bucket;
  for (std::int64_t packet = 0; packet < 70'000; ++packet) {
    const std::int64_t whole_hours = packet / 7;
    const std::int64_t rest = (packet % 7 * 3'600'000'000'000 + 6) / 7;  // rounded up
    ASSERT_EQ(send(bucket, parameters, kTestStart),
              kTestStart + Duration(whole_hours * 3'600'000'000'000 + rest));
  }
}

TEST(FlowBucket, LetsABurstOfADayGoAtOnce) {
  const BucketParameters parameters({.packets = PacketRate{1'000'000, 86'400}}, {.packets = 500'000});
  FlowBucket bucket;
  for (int packet = 0; packet < 500'000; ++packet)
    ASSERT_EQ(send(bucket, parameters, kTestStart), kTestStart);
  EXPECT_EQ(send(bucket, parameters, kTestStart), kTestStart + Duration(86'400'000));
}

// Any of what a configuration may say, small and large.
template <typename Random>
std::uint64_t log_uniform(Random& random, std::uint64_t most) {
  const double exponent = std::uniform_real_distribution<>(0, std::log2(static_cast<double>(most)))(random);
  return std::min(most, static_cast<std::uint64_t>(std::exp2(exponent)));
}

TEST(FlowBucket, AgreesWithTheNaiveBucketForAnyRatesBurstsAndArrivals) {
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(seed);
    Rate rate;
    Burst burst;
    const auto kind = random() % 3;
    if (kind != 1) rate.packets = PacketRate{log_uniform(random, kMaxPacketRate.packets)};
    constexpr std::array<std::uint32_t, 4> kPeriods = {1, 60, 3'600, 86'400};
    // Within the decades that an Instant has.
    if (rate.packets && rate.packets->packets >= 100) rate.packets->seconds = kPeriods[random() % 4];
    if (kind != 0) rate.bits = BitRate{log_uniform(random, kMaxBitRate.bits_per_second)};
    if (rate.packets && random() % 2) burst.packets = log_uniform(random, 1000);
    if (rate.bits && random() % 2) burst.bytes = DataSize{log_uniform(random, 1'000'000)};

    const BucketParameters parameters(rate, burst);
    FlowBucket bucket;
    NaiveBucket naive(rate, burst, {});
    Instant arrival = kTestStart;
    const std::uint64_t longest_gap = log_uniform(random, 1'000'000'000);
    for (int i = 0; i < 500; ++i) {
      arrival += Duration(random() % 3 ? random() % longest_gap : 0);
      const std::uint64_t segments = random() % 8 ? 1 : 1 + random() % 60;
      const Cost cost{segments, 14 * segments + log_uniform(random, 70'000)};
      const Instant expected = *naive.arrive(arrival, cost);
      ASSERT_EQ(send(bucket, parameters, arrival, cost), expected) << "seed " << seed << ", packet " << i;
    }
  }
}

TEST(FlowBucket, ChargesWhatTheLinkAddsToEachPacket) {
  // 100 bytes and 24 of overhead at 1 Mbit/s: 992 µs.
  const BucketParameters parameters(Rate{.bits = BitRate{1'000'000}}, {}, {.overhead = 24});
  FlowBucket bucket;
  bucket.commit(parameters, {1, 100}, kTestStart);
  EXPECT_EQ(bucket.earliest(parameters, {1, 100}, kTestStart) - kTestStart, std::chrono::microseconds(992));
}

TEST(FlowBucket, ChargesNoPacketLessThanTheSmallestUnitOfTheLink) {
  const BucketParameters parameters(Rate{.bits = BitRate{1'000'000}}, {}, {.overhead = -14, .mpu = 64});
  EXPECT_EQ(parameters.link_bytes({1, 64}), 64u);
  EXPECT_EQ(parameters.link_bytes({1, 78}), 64u);
  EXPECT_EQ(parameters.link_bytes({1, 100}), 86u);
  EXPECT_EQ(parameters.link_bytes({1, 10}), 64u)
      << "a negative overhead never makes a packet's size negative";
}

}  // namespace
}  // namespace headgate
