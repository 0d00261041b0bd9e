#include "top/history.hpp"

#include <gtest/gtest.h>

namespace headgate::top {
namespace {

const std::vector<double> kBounds = {100, 200};

TEST(History, KnowsNoRateAtTheFirstLook) {
  History history;
  history.add({.packets = 1000, .bytes = 60'000}, 0, kBounds);
  EXPECT_TRUE(history.samples().empty());
  EXPECT_EQ(history.latest().packets, std::nullopt);
}

TEST(History, GivesWhatCameBetweenTwoLooksPerSecond) {
  History history;
  history.add({.packets = 1000, .bytes = 60'000, .drops = 5, .delays = {7, 0, 0}}, 0, kBounds);
  history.add({.packets = 2000, .bytes = 120'000, .drops = 15, .delays = {7, 10, 0}}, 2, kBounds);
  const Sample& now = history.latest();
  EXPECT_EQ(now.packets, 500);
  EXPECT_EQ(now.bits, 240'000);
  EXPECT_EQ(now.drops, 5);
  EXPECT_EQ(now.p50, 150);
}

TEST(History, HasAGapWhereCountsBeganAnew) {
  History history;
  history.add({.packets = 1000, .bytes = 60'000, .drops = 9}, 0, kBounds);
  history.add({.packets = 1001, .bytes = 60'060, .drops = 8}, 1, kBounds);  // one went back
  EXPECT_EQ(history.latest().packets, std::nullopt);
  history.add({.packets = 1011, .bytes = 60'660, .drops = 8}, 1, kBounds);
  EXPECT_EQ(history.latest().packets, 10);
  history.add({.packets = 5000, .bytes = 600'000, .drops = 100}, 0, kBounds);  // another process
  EXPECT_EQ(history.latest().packets, std::nullopt);
  EXPECT_EQ(history.samples().size(), 3);
}

TEST(History, KeepsTheLastSixtySamples) {
  History history;
  std::uint64_t packets = 0;
  for (std::uint64_t i = 0; i <= 100; ++i) history.add({.packets = packets += i}, 1, kBounds);
  ASSERT_EQ(history.samples().size(), 60);
  EXPECT_EQ(history.samples().front().packets, 41);
  EXPECT_EQ(history.latest().packets, 100);
}

TEST(History, HasNoQuantileBelowASmallerOne) {
  History history;
  history.add({.delays = {0, 0, 0}}, 0, kBounds);
  history.add({.delays = {0, 10, 0}, .p50 = 199.5, .p99 = 5000}, 1,
              kBounds);  // 99 of 100: 199, were they even
  EXPECT_EQ(history.latest().p50, 199.5);
  EXPECT_EQ(history.latest().p99, 199.5);
}

TEST(History, KnowsNoDelayWhereNothingWasSent) {
  History history;
  history.add({.delays = {1, 2, 3}, .p99 = 150}, 0, kBounds);
  history.add({.delays = {1, 2, 3}, .p99 = 150}, 1, kBounds);
  EXPECT_EQ(history.latest().p99, std::nullopt);
  EXPECT_EQ(history.latest().packets, 0);
}

}  // namespace
}  // namespace headgate::top
