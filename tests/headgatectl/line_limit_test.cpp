#include "line_limit.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace headgate {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

// How many of `count` lines at that moment are admitted.
int admitted(LineLimit& limit, int count, Instant at, const std::string& reason = "queue_full") {
  int shown = 0;
  for (int i = 0; i < count; ++i) shown += limit.admits(reason, at) ? 1 : 0;
  return shown;
}

TEST(LineLimit, AdmitsSoManyLinesASecondAndCountsTheRestByReason) {
  LineLimit limit(10);
  EXPECT_EQ(admitted(limit, 8, kStart), 8);
  EXPECT_EQ(admitted(limit, 5, kStart + 500ms), 2);
  EXPECT_EQ(admitted(limit, 4, kStart + 999ms, "aqm"), 0);
  EXPECT_EQ(limit.take_left_out(kStart + 999ms), LineLimit::Reasons{});
  EXPECT_EQ(limit.due(), kStart + 1s);
  EXPECT_EQ(limit.take_left_out(kStart + 1s), (LineLimit::Reasons{{"queue_full", 3}, {"aqm", 4}}));
  EXPECT_EQ(limit.take_left_out(kStart + 2s), LineLimit::Reasons{});
  EXPECT_EQ(admitted(limit, 11, kStart + 1s), 10);
}

TEST(LineLimit, BeginsASecondWithItsFirstLine) {
  LineLimit limit(1);
  EXPECT_EQ(admitted(limit, 1, kStart), 1);
  EXPECT_EQ(limit.take_left_out(kStart + 1900ms), LineLimit::Reasons{});
  EXPECT_EQ(admitted(limit, 1, kStart + 1900ms), 1);
  EXPECT_EQ(admitted(limit, 1, kStart + 2100ms), 0);
  EXPECT_EQ(limit.due(), kStart + 2900ms);
}

TEST(LineLimit, HasNothingToWaitForWhenNothingIsLeftOut) {
  LineLimit limit(2);
  EXPECT_EQ(limit.due(), std::nullopt);
  admitted(limit, 2, kStart);
  EXPECT_EQ(limit.due(), std::nullopt);
}

TEST(LineLimit, SaysWhatIsLeftOutMostFrequentFirst) {
  const LineLimit::Reasons reasons = {{"aqm", 34}, {"queue_full", 1200}};
  EXPECT_EQ(sum_of(reasons), 1234);
  EXPECT_EQ(left_out_line(reasons), "... and 1234 more: queue_full 1200, aqm 34");
}

}  // namespace
}  // namespace headgate
