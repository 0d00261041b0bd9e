#include "headgate/units.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "headgate/accrual.hpp"
#include "headgate/cost.hpp"
#include "support/manual_clock.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;

TEST(Units, RateTimesTimeIsASizeRoundedDown) {
  EXPECT_EQ(BitRate{8'000} * 1s, DataSize{1'000});
  EXPECT_EQ(1s * BitRate{12}, DataSize{1});
  EXPECT_EQ(BitRate{8'000} * 999'999ns, DataSize{0});
  EXPECT_EQ(BitRate{8'000} * -1s, DataSize{0});
  EXPECT_EQ(PacketRate{3} * 1s, 3u);
  EXPECT_EQ(PacketRate{3} * 333'333'333ns, 0u);
}

TEST(Units, SizeByRateIsATimeRoundedUp) {
  EXPECT_EQ(DataSize{1'500} / BitRate{1'000'000}, 12ms);
  EXPECT_EQ(DataSize{1} / BitRate{3}, 2'666'666'667ns);
  EXPECT_EQ(1 / PacketRate{3}, 333'333'334ns);
  EXPECT_EQ(DataSize{UINT64_MAX} / BitRate{1}, Duration::max());
}

TEST(Units, KnowsRatesOfAnyPeriod) {
  EXPECT_EQ(UnitRate(10, 1min).time_for(1), 6s);
  EXPECT_EQ(UnitRate(10, 1min).in(59s), 9u);
  EXPECT_EQ(UnitRate(1, std::chrono::days(365)).in(std::chrono::days(365 * 100)), 100u);
  EXPECT_EQ(UnitRate(1, std::chrono::days(365)).time_for(UINT64_MAX), Duration::max());
}

TEST(Units, RefusesRatesThatAreNone) {
  EXPECT_THROW(UnitRate(0, 1s), std::invalid_argument);
  EXPECT_THROW(UnitRate(1, 0s), std::invalid_argument);
  EXPECT_THROW(UnitRate(1, -1s), std::invalid_argument);
  EXPECT_THROW(UnitRate(1, std::chrono::days(732)), std::invalid_argument);
  EXPECT_THROW(UnitRate(1'001, 1ns), std::invalid_argument);
  EXPECT_THROW(UnitRate(UINT64_MAX, 1s), std::invalid_argument);
  EXPECT_NO_THROW(UnitRate(1'000'000'000'000, 1s));
}

TEST(Units, AddsAndSubtractsSizesAndCosts) {
  EXPECT_EQ(DataSize{3} + DataSize{4} - DataSize{2}, DataSize{5});
  EXPECT_EQ((Cost{1, 100} + Cost{2, 50}), (Cost{3, 150}));
  EXPECT_EQ((Cost{3, 150} - Cost{1, 100}), (Cost{2, 50}));
}

TEST(Units, TakesTheReadingOfAnotherClock) {
  const std::chrono::steady_clock::time_point reading{1'234ms};
  EXPECT_EQ(instant_of(reading), Instant{1'234ms});
}

TEST(Accrual, BringsWhatTheTimeBringsHoweverItIsCut) {
  Accrual whole(UnitRate(7, 3s));
  Accrual cut(UnitRate(7, 3s));
  whole.advance(kTestStart);
  cut.advance(kTestStart);
  Accrual::Parts sum = 0;
  for (int i = 1; i <= 1'000; ++i) sum += cut.advance(kTestStart + i * 199ms);
  EXPECT_TRUE(sum == whole.advance(kTestStart + 199s));
  EXPECT_EQ(whole.whole_units(sum), 199 * 7 / 3);
}

TEST(Accrual, BringsNothingWhileTheClockIsBack) {
  Accrual accrual(UnitRate(1, 1ns));
  accrual.advance(kTestStart);
  EXPECT_TRUE(accrual.advance(kTestStart - 5s) == 0);
  EXPECT_TRUE(accrual.advance(kTestStart - 1s) == 0);
  EXPECT_TRUE(accrual.advance(kTestStart + 1ns) == 1);
}

TEST(Accrual, TakesAnyInstant) {
  Accrual accrual(UnitRate(1'000'000'000'000'000'000, std::chrono::days(12)));
  accrual.advance(Instant::min());
  const Accrual::Parts all = accrual.advance(Instant::max());
  EXPECT_TRUE(all == Int128{UINT64_MAX} * 1'000'000'000'000'000'000);
  EXPECT_EQ(accrual.whole_units(all), INT64_MAX) << "what does not fit is the most that does";
}

TEST(Accrual, ChangesItsRateWithoutGivingAPart) {
  Accrual accrual(UnitRate(3, 1s));
  const Accrual::Parts amount = accrual.parts(5) + 1;
  const Accrual::Parts changed = accrual.change(UnitRate(3, 7ns), amount);
  EXPECT_TRUE(changed == accrual.parts(5));
  const Accrual::Parts debt = accrual.change(UnitRate(3, 1s), -accrual.parts(5) - 1);
  EXPECT_EQ(accrual.whole_units(debt), -6);
  EXPECT_TRUE(debt == -accrual.parts(5) - (1'000'000'000 + 6) / 7) << "a debt is rounded up";
}

}  // namespace
}  // namespace headgate
