#include "core/arrival_merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "support/heap_memory.hpp"
#include "support/manual_clock.hpp"

namespace headgate {
namespace {

class ArrivalMergeTest : public testing::Test {
 protected:
  // A chain of packets that arrived at these nanoseconds.
  PacketHandle chain(const std::vector<int>& arrivals) {
    PacketHandle first = kNoPacket;
    for (auto at = arrivals.rbegin(); at != arrivals.rend(); ++at) {
      const PacketHandle packet = pool_.store({}, {});
      pool_[packet].arrival = kTestStart + Duration(*at);
      pool_[packet].next = first;
      first = packet;
    }
    return first;
  }
  std::vector<int> arrivals(PacketHandle packet) const {
    std::vector<int> found;
    for (; packet != kNoPacket; packet = pool_[packet].next)
      found.push_back(static_cast<int>((pool_[packet].arrival - kTestStart).count()));
    return found;
  }

  HeapMemory memory_;
  PacketPool pool_{DataSize{1024 * 1024}, memory_};
  ArrivalMerge merge_{pool_};
};

TEST_F(ArrivalMergeTest, OfNothingIsNothing) {
  merge_.add(kNoPacket);
  EXPECT_EQ(merge_.result(), kNoPacket);
}

TEST_F(ArrivalMergeTest, BringsChainsIntoOrderOfArrival) {
  merge_.add(chain({1, 4, 9}));
  merge_.add(chain({2}));
  merge_.add(kNoPacket);
  merge_.add(chain({0, 5, 6, 10}));
  EXPECT_THAT(arrivals(merge_.result()), testing::ElementsAre(0, 1, 2, 4, 5, 6, 9, 10));
}

TEST_F(ArrivalMergeTest, KeepsTheOrderOfAChainWhosePacketsWereStampedOutOfOrder) {
  merge_.add(chain({5, 3, 8}));
  merge_.add(chain({4}));
  EXPECT_THAT(arrivals(merge_.result()), testing::ElementsAre(4, 5, 3, 8));
}

TEST_F(ArrivalMergeTest, SortsManyChainsStably) {
  std::mt19937 random(1);
  std::vector<std::pair<int, PacketHandle>> expected;
  expected.reserve(1'000);
  for (int i = 0; i < 1'000; ++i) {
    const int arrival = static_cast<int>(random() % 100);
    const PacketHandle packet = chain({arrival});
    expected.emplace_back(arrival, packet);
    merge_.add(packet);
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  PacketHandle packet = merge_.result();
  for (const auto& each : expected) {
    ASSERT_EQ(packet, each.second);
    packet = pool_[packet].next;
  }
  EXPECT_EQ(packet, kNoPacket);
}

}  // namespace
}  // namespace headgate
