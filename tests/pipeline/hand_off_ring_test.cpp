#include "pipeline/hand_off_ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace headgate {
namespace {

TEST(HandOffRing, ShowsNothingBeforeItIsPublished) {
  HandOffRing<int> ring(4);
  *ring.stage() = 7;
  EXPECT_TRUE(ring.peek(4).empty());
  EXPECT_TRUE(ring.empty());
  ring.publish();
  EXPECT_FALSE(ring.empty());
  ASSERT_EQ(ring.peek(4).size(), 1u);
  EXPECT_EQ(ring.peek(4)[0], 7);
}

TEST(HandOffRing, GivesNoRoomWhenFullAndRoomAgainAfterConsuming) {
  HandOffRing<int> ring(4);
  for (int i = 0; i < 4; ++i) *ring.stage() = i;
  EXPECT_EQ(ring.stage(), nullptr);
  ring.publish();
  EXPECT_EQ(ring.stage(), nullptr);
  ring.consume(1);
  EXPECT_NE(ring.stage(), nullptr);
  EXPECT_EQ(ring.stage(), nullptr);
}

TEST(HandOffRing, RoundsItsCapacityUpToAPowerOfTwo) {
  HandOffRing<int> ring(5);
  for (int i = 0; i < 8; ++i) ASSERT_NE(ring.stage(), nullptr);
  EXPECT_EQ(ring.stage(), nullptr);
}

TEST(HandOffRing, PeeksOnlyUpToTheWrap) {
  HandOffRing<int> ring(4);
  for (int i = 0; i < 3; ++i) *ring.stage() = i;
  ring.publish();
  ring.consume(3);
  for (int i = 3; i < 6; ++i) *ring.stage() = i;
  ring.publish();
  ASSERT_EQ(ring.peek(4).size(), 1u);
  EXPECT_EQ(ring.peek(4)[0], 3);
  ring.consume(1);
  ASSERT_EQ(ring.peek(4).size(), 2u);
  EXPECT_EQ(ring.peek(4)[0], 4);
  EXPECT_EQ(ring.peek(4)[1], 5);
  EXPECT_EQ(ring.peek(1).size(), 1u);
}

TEST(HandOffRing, CarriesEverythingInOrderBetweenTwoThreads) {
  constexpr std::uint64_t kEntries = 200'000;
  HandOffRing<std::uint64_t> ring(64);
  std::thread producer([&ring] {
    for (std::uint64_t i = 0; i < kEntries;) {
      for (int batch = 0; batch < 5 && i < kEntries; ++batch) {
        std::uint64_t* entry = ring.stage();
        if (entry == nullptr) break;
        *entry = i++;
      }
      ring.publish();
    }
  });
  std::uint64_t expected = 0;
  bool in_order = true;
  while (expected < kEntries) {
    const auto entries = ring.peek(16);
    for (const std::uint64_t entry : entries) in_order = in_order && entry == expected++;
    ring.consume(entries.size());
  }
  producer.join();
  EXPECT_TRUE(in_order);
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace headgate
