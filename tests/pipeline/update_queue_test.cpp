#include "pipeline/update_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace headgate {
namespace {

struct Update {
  std::uint32_t number = 0;
  std::unique_ptr<int> memory{};
};

Update update_of(std::uint32_t number) {
  return {.number = number, .memory = std::make_unique<int>()};
}

TEST(UpdateQueue, HasNothingAtFirst) {
  UpdateQueue<Update> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.first(), nullptr);
}

TEST(UpdateQueue, GivesEachUntilItIsTakenOut) {
  UpdateQueue<Update> queue;
  for (const std::uint32_t number : {1u, 2u}) queue.push(update_of(number));
  EXPECT_EQ(queue.first()->number, 1u);
  EXPECT_EQ(queue.first()->number, 1u);
  queue.pop();
  EXPECT_EQ(queue.first()->number, 2u);
  EXPECT_FALSE(queue.empty());
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

// A sanitizer sees what is freed twice, never, or too early.
TEST(UpdateQueue, HandsAllOverInOrderBetweenThreads) {
  constexpr std::uint32_t kUpdates = 20'000;
  UpdateQueue<Update> queue;
  std::thread producer([&queue] {
    for (std::uint32_t number = 0; number < kUpdates; ++number) queue.push(update_of(number));
  });
  std::vector<std::uint32_t> seen;
  while (seen.size() < kUpdates) {
    Update* const first = queue.first();
    if (first == nullptr) {
      std::this_thread::yield();
      continue;
    }
    seen.push_back(first->number);
    queue.pop();
  }
  producer.join();
  for (std::uint32_t number = 0; number < kUpdates; ++number) ASSERT_EQ(seen[number], number);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace headgate
