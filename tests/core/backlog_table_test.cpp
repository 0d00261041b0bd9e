#include "core/backlog_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace headgate {
namespace {

// Of a queue, the table sees whether it has one packet or several, and the chunks.
void resize(BacklogTable& table, BacklogNumber backlog, std::uint32_t packets, std::uint32_t chunks) {
  table[backlog].head = packets == 0 ? kNoPacket : 0;
  table[backlog].tail = packets == 0 ? kNoPacket : packets - 1;
  table[backlog].chunks = chunks;
  table.resized(backlog);
}

TEST(BacklogTable, NeverNamesAQueueOfOnePacketTheLongest) {
  BacklogTable table(4);
  EXPECT_EQ(table.longest(), kNoBacklog);
  resize(table, table.acquire(1), 1, 7);
  EXPECT_EQ(table.longest(), kNoBacklog);
  const BacklogNumber two = table.acquire(2);
  resize(table, two, 2, 2);
  EXPECT_EQ(table.longest(), two);
}

TEST(BacklogTable, ComparesAGrowingQueueWithTheLongest) {
  BacklogTable table(4);
  resize(table, table.acquire(1), 9, 9);  // the list of 8 to 15 chunks
  EXPECT_FALSE(table.among_longest(7));
  EXPECT_TRUE(table.among_longest(8));
  EXPECT_TRUE(table.among_longest(100));
}

TEST(BacklogTable, NamesAQueueMoreThanHalfAsLongAsTheLongest) {
  constexpr std::uint32_t kBacklogs = 50;
  BacklogTable table(kBacklogs);
  std::mt19937 random(3);
  std::vector<BacklogNumber> in_use;
  for (int step = 0; step < 50'000; ++step) {
    if (in_use.size() < kBacklogs && random() % 4 == 0) in_use.push_back(table.acquire(random()));
    if (in_use.empty()) continue;
    std::swap(in_use[random() % in_use.size()], in_use.back());
    const BacklogNumber backlog = in_use.back();
    if (random() % 8 == 0) {
      resize(table, backlog, 0, 0);
      table.release(backlog);
      in_use.pop_back();
    } else {
      const std::uint32_t packets = 1 + random() % 40;
      resize(table, backlog, packets, packets * (1 + random() % 7));
    }
    std::uint32_t most = 0;
    for (const BacklogNumber each : in_use) {
      if (!table[each].single()) most = std::max(most, table[each].chunks);
    }
    const BacklogNumber longest = table.longest();
    ASSERT_EQ(longest == kNoBacklog, most == 0);
    if (most == 0) continue;
    ASSERT_FALSE(table[longest].single());
    ASSERT_GT(2 * table[longest].chunks, most);
  }
}

}  // namespace
}  // namespace headgate
