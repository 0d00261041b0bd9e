#include "pipeline/member_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace headgate {
namespace {

MemberUpdateOf update_of(std::uint32_t number) {
  MemberUpdateOf update;
  update.update.hash = number;
  update.update.table = std::make_unique<MemberTable>();
  return update;
}

TEST(MemberQueue, HasNothingAtFirst) {
  MemberQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.first(), nullptr);
}

TEST(MemberQueue, GivesEachUntilItIsTakenOut) {
  MemberQueue queue;
  for (const std::uint32_t number : {1u, 2u}) queue.push(update_of(number));
  EXPECT_EQ(queue.first()->update.hash, 1u);
  EXPECT_EQ(queue.first()->update.hash, 1u);
  queue.pop();
  EXPECT_EQ(queue.first()->update.hash, 2u);
  EXPECT_FALSE(queue.empty());
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

// A sanitizer sees what is freed twice, never, or too early.
TEST(MemberQueue, HandsAllOverInOrderBetweenThreads) {
  constexpr std::uint32_t kUpdates = 20'000;
  MemberQueue queue;
  std::thread producer([&queue] {
    for (std::uint32_t number = 0; number < kUpdates; ++number) queue.push(update_of(number));
  });
  std::vector<std::uint32_t> seen;
  while (seen.size() < kUpdates) {
    MemberUpdateOf* const first = queue.first();
    if (first == nullptr) {
      std::this_thread::yield();
      continue;
    }
    seen.push_back(first->update.hash);
    queue.pop();
  }
  producer.join();
  for (std::uint32_t number = 0; number < kUpdates; ++number) ASSERT_EQ(seen[number], number);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace headgate
