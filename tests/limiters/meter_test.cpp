#include "headgate/meter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;
using enum Color;

constexpr BitRate kByteAMicrosecond{8'000'000};

TEST(SingleRateMeter, ColoursByCommittedAndExcessBurst) {
  SingleRateMeter meter(kByteAMicrosecond, DataSize{1'000}, DataSize{500});
  EXPECT_EQ(meter.mark({600}, kTestStart), green);
  EXPECT_EQ(meter.mark({500}, kTestStart), yellow) << "400 of the committed burst are left";
  EXPECT_EQ(meter.mark({400}, kTestStart), green);
  EXPECT_EQ(meter.mark({1}, kTestStart), red);
  EXPECT_EQ(meter.mark({1}, kTestStart + 1us), green);
}

TEST(SingleRateMeter, FillsTheExcessBurstOnlyWhenTheCommittedOneIsFull) {
  SingleRateMeter meter(kByteAMicrosecond, DataSize{1'000}, DataSize{500});
  meter.mark({1'000}, kTestStart);
  meter.mark({500}, kTestStart);
  EXPECT_EQ(meter.mark({1'001}, kTestStart + 1'200us), red) << "200 bytes of excess have come";
  EXPECT_EQ(meter.mark({1'000}, kTestStart + 1'200us), green);
  EXPECT_EQ(meter.mark({200}, kTestStart + 1'200us), yellow);
  EXPECT_EQ(meter.mark({1}, kTestStart + 1'200us), red);
}

TEST(SingleRateMeter, AwareOfAColourNeverMakesItBetter) {
  SingleRateMeter meter(kByteAMicrosecond, DataSize{1'000}, DataSize{1'000});
  EXPECT_EQ(meter.mark({100}, kTestStart, red), red);
  EXPECT_EQ(meter.mark({1'000}, kTestStart, yellow), yellow) << "out of the excess burst";
  EXPECT_EQ(meter.mark({1}, kTestStart, yellow), red);
  EXPECT_EQ(meter.mark({1'000}, kTestStart, green), green) << "the committed burst was not touched";
}

TEST(SingleRateMeter, NeedsABurst) {
  EXPECT_THROW(SingleRateMeter(kByteAMicrosecond, DataSize{0}, DataSize{0}), std::invalid_argument);
  EXPECT_NO_THROW(SingleRateMeter(kByteAMicrosecond, DataSize{0}, DataSize{1}));
}

TEST(TwoRateMeter, ColoursByPeakAndCommittedRate) {
  TwoRateMeter meter(BitRate{16'000'000}, DataSize{1'500}, kByteAMicrosecond, DataSize{1'000});
  EXPECT_EQ(meter.mark({1'000}, kTestStart), green);
  EXPECT_EQ(meter.mark({500}, kTestStart), yellow);
  EXPECT_EQ(meter.mark({1}, kTestStart), red);
  EXPECT_EQ(meter.mark({20}, kTestStart + 10us), yellow) << "20 bytes of peak have come, 10 committed";
  EXPECT_EQ(meter.mark({20}, kTestStart + 20us), green);
  EXPECT_EQ(meter.mark({1}, kTestStart + 20us), red);
}

TEST(TwoRateMeter, AwareOfAColourNeverMakesItBetter) {
  TwoRateMeter meter(BitRate{16'000'000}, DataSize{1'500}, kByteAMicrosecond, DataSize{1'000});
  EXPECT_EQ(meter.mark({100}, kTestStart, red), red);
  EXPECT_EQ(meter.mark({500}, kTestStart, yellow), yellow) << "out of the peak burst alone";
  EXPECT_EQ(meter.mark({1'000}, kTestStart, green), green);
  EXPECT_EQ(meter.mark({1}, kTestStart, yellow), red);
}

TEST(TwoRateMeter, RefusesWhatTheStandardExcludes) {
  EXPECT_THROW(TwoRateMeter(BitRate{1}, DataSize{1}, BitRate{2}, DataSize{1}), std::invalid_argument);
  EXPECT_THROW(TwoRateMeter(BitRate{2}, DataSize{0}, BitRate{2}, DataSize{1}), std::invalid_argument);
  EXPECT_THROW(TwoRateMeter(BitRate{2}, DataSize{1}, BitRate{2}, DataSize{0}), std::invalid_argument);
  EXPECT_NO_THROW(TwoRateMeter(UnitRate(1, 1s), DataSize{1}, UnitRate(60, 1min), DataSize{1}));
}

TEST(Meters, StandStillWhileTheClockIsBackAndAreFullAfterYears) {
  SingleRateMeter single(kByteAMicrosecond, DataSize{10}, DataSize{10});
  TwoRateMeter two(kByteAMicrosecond, DataSize{10}, kByteAMicrosecond, DataSize{10});
  EXPECT_EQ(single.mark({10}, kTestStart), green);
  EXPECT_EQ(single.mark({10}, kTestStart), yellow);
  EXPECT_EQ(two.mark({10}, kTestStart), green);
  EXPECT_EQ(single.mark({1}, kTestStart - 1s), red);
  EXPECT_EQ(two.mark({1}, kTestStart - 1s), red);
  EXPECT_EQ(single.mark({1}, kTestStart), red);
  EXPECT_EQ(two.mark({1}, kTestStart), red);
  EXPECT_EQ(single.mark({10}, Instant::max()), green);
  EXPECT_EQ(single.mark({10}, Instant::max()), yellow);
  EXPECT_EQ(single.mark({1}, Instant::max()), red);
  EXPECT_EQ(two.mark({10}, Instant::max()), green);
  EXPECT_EQ(two.mark({1}, Instant::max()), red);
}

// At a whole number of bytes a nanosecond the RFCs' steps, token by token, can be taken as they are written.
TEST(SingleRateMeter, AgreesWithTheStandardTokenByToken) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t rate = 1 + random() % 5;
    const std::uint64_t cbs = random() % 200;
    const std::uint64_t ebs = 1 + random() % 200;
    SingleRateMeter meter(UnitRate(rate, 1ns), DataSize{cbs}, DataSize{ebs});
    std::uint64_t tc = cbs;
    std::uint64_t te = ebs;
    Instant latest = kTestStart;
    meter.mark({0}, latest);
    for (int i = 0; i < 500; ++i) {
      const Instant now = latest + Duration(random() % 40) - Duration(random() % 6);
      for (; latest < now; latest += 1ns) {
        for (std::uint64_t token = 0; token < rate; ++token) {
          if (tc < cbs)
            ++tc;
          else if (te < ebs)
            ++te;
        }
      }
      const std::uint64_t size = random() % 100;
      const Color before = static_cast<Color>(random() % 3);
      Color expected = red;
      if (before == green && tc >= size) {
        expected = green;
        tc -= size;
      } else if (before != red && te >= size) {
        expected = yellow;
        te -= size;
      }
      ASSERT_EQ(meter.mark({size}, now, before), expected) << "seed " << seed << ", packet " << i;
    }
  }
}

TEST(TwoRateMeter, AgreesWithTheStandardTokenByToken) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t cir = 1 + random() % 4;
    const std::uint64_t pir = cir + random() % 4;
    const std::uint64_t cbs = 1 + random() % 200;
    const std::uint64_t pbs = 1 + random() % 300;
    TwoRateMeter meter(UnitRate(pir, 1ns), DataSize{pbs}, UnitRate(cir, 1ns), DataSize{cbs});
    std::uint64_t tp = pbs;
    std::uint64_t tc = cbs;
    Instant latest = kTestStart;
    meter.mark({0}, latest);
    for (int i = 0; i < 500; ++i) {
      const Instant now = latest + Duration(random() % 40) - Duration(random() % 6);
      for (; latest < now; latest += 1ns) {
        tp = std::min(pbs, tp + pir);
        tc = std::min(cbs, tc + cir);
      }
      const std::uint64_t size = random() % 100;
      const Color before = static_cast<Color>(random() % 3);
      Color expected = green;
      if (before == red || tp < size) {
        expected = red;
      } else if (before == yellow || tc < size) {
        expected = yellow;
        tp -= size;
      } else {
        tp -= size;
        tc -= size;
      }
      ASSERT_EQ(meter.mark({size}, now, before), expected) << "seed " << seed << ", packet " << i;
    }
  }
}

}  // namespace
}  // namespace headgate
