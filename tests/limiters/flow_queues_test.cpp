#include "limiters/flow_queues.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "support/manual_clock.hpp"

namespace headgate {
namespace {

TEST(FlowQueues, HoldsOneItemOrManyInOrder) {
  FlowQueues queues(2, 3);
  EXPECT_TRUE(queues.empty(0));
  queues.push(0, {10, kTestStart, 1, 100});
  EXPECT_EQ(queues.items(0), 1U);
  queues.push(0, {11, kTestStart, 2, 200});
  queues.push(1, {12, kTestStart, 1, 1});
  EXPECT_TRUE(queues.full());
  EXPECT_EQ(queues.cost(0), (Cost{3, 300}));
  EXPECT_EQ(queues.front(0).handle, 10U);
  queues.pop(0);
  EXPECT_FALSE(queues.full());
  EXPECT_EQ(queues.front(0).handle, 11U);
  EXPECT_EQ(queues.front(0).cost(), (Cost{2, 200}));
  queues.pop(0);
  EXPECT_TRUE(queues.empty(0));
  EXPECT_EQ(queues.cost(0), Cost{});
  EXPECT_EQ(queues.items(), 1U);
}

TEST(FlowQueues, DoesWhatDequesDo) {
  constexpr std::uint32_t kFlows = 7;
  constexpr std::uint32_t kItems = 40;
  std::mt19937_64 random(1);
  FlowQueues queues(kFlows, kItems);
  std::vector<std::deque<QueuedItem>> deques(kFlows);
  std::uint32_t items = 0;
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const auto flow = static_cast<std::uint32_t>(random() % kFlows);
    std::deque<QueuedItem>& deque = deques[flow];
    ASSERT_EQ(queues.full(), items == kItems);
    const bool push = step / 1000 % 2 == 0 ? random() % 3 > 0 : random() % 3 == 0;  // fills up, and empties
    if (push && !queues.full()) {
      const QueuedItem item{step, kTestStart, static_cast<std::uint32_t>(random() % 3),
                            static_cast<std::uint32_t>(random())};
      queues.push(flow, item);
      deque.push_back(item);
      ++items;
    } else if (!deque.empty()) {
      queues.pop(flow);
      deque.pop_front();
      --items;
    }
    ASSERT_EQ(queues.items(), items);
    ASSERT_EQ(queues.items(flow), deque.size());
    Cost cost;
    for (const QueuedItem& item : deque) cost += item.cost();
    ASSERT_EQ(queues.cost(flow), cost);
    if (!deque.empty()) {
      ASSERT_EQ(queues.front(flow).handle, deque.front().handle);
    }
  }
}

}  // namespace
}  // namespace headgate
