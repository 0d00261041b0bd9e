#include "core/longest_queues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/heap_memory.hpp"

namespace headgate {
namespace {

class TestQueues {
 public:
  explicit TestQueues(std::uint32_t capacity) : backlogs(capacity, memory_) {}

  BacklogNumber acquire(FlowNumber flow) {
    EXPECT_TRUE(backlogs.make_ready());
    return backlogs.acquire(flow);
  }
  // Of a queue, the lists see whether it has one packet or several, and the chunks.
  void resize(BacklogNumber backlog, std::uint32_t packets, std::uint32_t chunks) {
    backlogs[backlog].head = packets == 0 ? kNoPacket : 0;
    backlogs[backlog].tail = packets == 0 ? kNoPacket : packets - 1;
    backlogs[backlog].chunks = chunks;
    queues.resized(backlogs, backlog);
  }

 private:
  HeapMemory memory_;

 public:
  BacklogTable backlogs;
  LongestQueues queues;
};

TEST(LongestQueues, NeverNamesAQueueOfOnePacketTheLongest) {
  TestQueues table(4);
  EXPECT_EQ(table.queues.longest(), kNoBacklog);
  table.resize(table.acquire(1), 1, 7);
  EXPECT_EQ(table.queues.longest(), kNoBacklog);
  const BacklogNumber two = table.acquire(2);
  table.resize(two, 2, 2);
  EXPECT_EQ(table.queues.longest(), two);
}

TEST(LongestQueues, ComparesAGrowingQueueWithTheLongest) {
  TestQueues table(4);
  table.resize(table.acquire(1), 9, 9);  // the list of 8 to 15 chunks
  EXPECT_FALSE(table.queues.among_longest(7));
  EXPECT_TRUE(table.queues.among_longest(8));
  EXPECT_TRUE(table.queues.among_longest(100));
}

TEST(LongestQueues, NamesAQueueMoreThanHalfAsLongAsTheLongest) {
  constexpr std::uint32_t kBacklogs = 50;
  TestQueues table(kBacklogs);
  std::mt19937 random(3);
  std::vector<BacklogNumber> in_use;
  for (int step = 0; step < 50'000; ++step) {
    if (in_use.size() < kBacklogs && random() % 4 == 0) in_use.push_back(table.acquire(random()));
    if (in_use.empty()) continue;
    std::swap(in_use[random() % in_use.size()], in_use.back());
    const BacklogNumber backlog = in_use.back();
    if (random() % 8 == 0) {
      table.resize(backlog, 0, 0);
      table.backlogs.release(backlog);
      in_use.pop_back();
    } else {
      const std::uint32_t packets = 1 + random() % 40;
      table.resize(backlog, packets, packets * (1 + random() % 7));
    }
    std::uint32_t most = 0;
    for (const BacklogNumber each : in_use) {
      if (!table.backlogs[each].single()) most = std::max(most, table.backlogs[each].chunks);
    }
    const BacklogNumber longest = table.queues.longest();
    ASSERT_EQ(longest == kNoBacklog, most == 0);
    if (most == 0) continue;
    ASSERT_FALSE(table.backlogs[longest].single());
    ASSERT_GT(2 * table.backlogs[longest].chunks, most);
  }
}

}  // namespace
}  // namespace headgate
