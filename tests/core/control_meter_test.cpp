#include "core/control_meter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = Instant(seconds(1000));

ControlMeter meter(std::optional<PacketRate> packets, std::optional<BitRate> bits) {
  return ControlMeter(ControlLimit({packets, bits}));
}

// How many of them are taken in `time`, one each millisecond.
std::uint64_t taken(ControlMeter& meter, const Count& size, Duration time) {
  std::uint64_t count = 0;
  for (Duration at{}; at < time; at += milliseconds(1)) count += meter.take(size, kStart + at) ? 1 : 0;
  return count;
}

TEST(ControlMeter, TakesNoMoreThanTheRateAndTheBurst) {
  ControlMeter packets = meter(PacketRate{100}, std::nullopt);
  EXPECT_EQ(taken(packets, {1, 100}, seconds(10)),
            1000U + 9);  // a burst of ten; the last moment is a millisecond before the end
  ControlMeter bits = meter(std::nullopt, BitRate{80'000});
  EXPECT_EQ(taken(bits, {1, 100}, seconds(10)), 1000U + 15'140 / 100);
}

TEST(ControlMeter, TakesWhatKeepsTheBoundThatIsReachedFirst) {
  ControlMeter small = meter(PacketRate{100}, BitRate{1'000'000});
  EXPECT_EQ(taken(small, {1, 100}, seconds(10)), 1000U + 9);
  ControlMeter large = meter(PacketRate{100}, BitRate{80'000});
  EXPECT_EQ(taken(large, {1, 1000}, seconds(10)), 100U + 15);
}

TEST(ControlMeter, ChargesASuperPacketForThePacketsThatItHolds) {
  ControlMeter packets = meter(PacketRate{100}, std::nullopt);
  EXPECT_TRUE(packets.take({10, 1000}, kStart));
  EXPECT_FALSE(packets.take({1, 100}, kStart));
  EXPECT_FALSE(packets.take({11, 1000}, kStart + seconds(100))) << "more than a burst";
}

TEST(ControlMeter, ARefusedPacketIsChargedToNeitherBound) {
  ControlMeter both = meter(PacketRate{100}, BitRate{80'000});
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(both.take({1, 60'000}, kStart));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(both.take({1, 100}, kStart)) << i;
}

TEST(ControlMeter, WithoutABoundTakesEverything) {
  ControlMeter none = meter(std::nullopt, std::nullopt);
  EXPECT_EQ(taken(none, {1000, 60'000}, seconds(1)), 1000U);
}

TEST(ControlMeter, HoldsForSeveralThreadsTogether) {
  ControlMeter shared = meter(PacketRate{100'000}, std::nullopt);  // a burst of 10 000
  std::atomic<std::uint64_t> count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int packet = 0; packet < 10'000; ++packet) count += shared.take({1, 100}, kStart) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 10'000U);
}

}  // namespace
}  // namespace headgate
