#include "core/flow_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "core/bucket_parameters.hpp"
#include "support/heap_memory.hpp"
#include "support/manual_clock.hpp"
#include "support/numbered_packets.hpp"

namespace headgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Few different hashes, so that probing and shifting have much to do.
std::uint32_t crowded_hash(std::uint32_t flow) {
  return (flow % 13) * 0x0fff'ffff;
}

TEST(FlowTable, FindsWhatWasInsertedByClassAndKey) {
  HeapMemory memory;
  FlowTable table(8, memory);
  const FlowNumber flow = table.insert(42, 0, numbered_key(1));
  ASSERT_NE(flow, kNoFlow);
  EXPECT_EQ(table.find(42, 0, numbered_key(1)), flow);
  EXPECT_EQ(table.find(42, 1, numbered_key(1)), kNoFlow);
  EXPECT_EQ(table.find(42, 0, numbered_key(2)), kNoFlow);
  EXPECT_EQ(table.find(43, 0, numbered_key(1)), kNoFlow);
}

TEST(FlowTable, IsFullAtItsSizeAndHarmsNoFlowThen) {
  HeapMemory memory;
  FlowTable table(100, memory);
  for (std::uint32_t i = 0; i < 100; ++i)
    ASSERT_NE(table.insert(crowded_hash(i), 0, numbered_key(i)), kNoFlow);
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.insert(7, 0, numbered_key(1000)), kNoFlow);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const FlowNumber flow = table.find(crowded_hash(i), 0, numbered_key(i));
    ASSERT_NE(flow, kNoFlow);
    EXPECT_EQ(flow_number(table.key(flow)), i);
  }
}

TEST(FlowTable, AgreesWithAMapThroughAnyInsertingAndErasing) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t size = 1 + random() % 200;
    HeapMemory memory;
    FlowTable table(size, memory);
    std::map<std::pair<std::uint16_t, std::uint32_t>, FlowNumber> reference;
    for (int step = 0; step < 5'000; ++step) {
      const std::uint32_t key = random() % (2 * size);
      const auto class_number = static_cast<std::uint16_t>(random() % 2);
      const std::uint32_t hash = seed % 2 ? crowded_hash(key) : key * 2'654'435'761u;
      const auto known = reference.find({class_number, key});
      ASSERT_EQ(table.find(hash, class_number, numbered_key(key)),
                known == reference.end() ? kNoFlow : known->second);
      if (known != reference.end()) {
        table.erase(known->second);
        reference.erase(known);
      } else {
        const FlowNumber flow = table.insert(hash, class_number, numbered_key(key));
        ASSERT_EQ(flow == kNoFlow, reference.size() == size);
        if (flow != kNoFlow) reference[{class_number, key}] = flow;
      }
      ASSERT_EQ(table.size(), reference.size());
    }
    for (const auto& [key, flow] : reference) {
      ASSERT_TRUE(table.in_use(flow));
      ASSERT_EQ(flow_number(table.key(flow)), key.second);
    }
  }
}

TEST(FlowTable, OneWhoseIndexGrowsAgreesWithAMapToo) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    constexpr std::uint32_t kSize = 100'000;
    HeapMemory memory;
    FlowTable table(kSize, memory, FlowIndex::grows);
    std::map<std::uint32_t, FlowNumber> reference;
    // More and more flows, then fewer, then more again.
    for (std::uint32_t step = 0; step < 400'000; ++step) {
      const std::uint32_t key = random() % (step < 150'000 || step > 300'000 ? 160'000 : 20'000);
      const std::uint32_t hash = key * 2'654'435'761u;
      const auto known = reference.find(key);
      const FlowNumber found = table.find(hash, 0, numbered_key(key));
      ASSERT_EQ(found, known == reference.end() ? kNoFlow : known->second) << step;
      if (known != reference.end()) {
        if (random() % 4 != 0) continue;
        table.erase(known->second);
        reference.erase(known);
      } else if (const FlowNumber flow = table.insert(hash, 0, numbered_key(key)); flow != kNoFlow) {
        reference[key] = flow;
        if (table.is_short()) table.grow_ahead();
      } else {
        ASSERT_EQ(reference.size(), kSize);
      }
      ASSERT_EQ(table.size(), reference.size());
    }
    for (const auto& [key, flow] : reference)
      ASSERT_EQ(table.find(key * 2'654'435'761u, 0, numbered_key(key)), flow);
  }
}

TEST(FlowTable, OneWhoseIndexGrowsBeginsSmall) {
  HeapMemory memory;
  FlowTable table(1'000'000, memory, FlowIndex::grows);
  EXPECT_LT(memory.used(), 256u * 1024);
}

TEST(FlowTable, OneWhoseIndexCannotGrowTakesWhatFitsAndHarmsNoFlow) {
  HeapMemory memory;
  FlowTable table(50'000, memory, FlowIndex::grows);
  std::uint32_t inserted = 0;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    if (table.is_short() && memory.limit > memory.used()) table.grow_ahead();
    if (table.insert(i * 2'654'435'761u, 0, numbered_key(i)) == kNoFlow) break;
    ++inserted;
    if (inserted == 5'000) memory.limit = memory.used();
  }
  EXPECT_GE(inserted, 5'000u);
  EXPECT_LT(inserted, 50'000u);
  for (std::uint32_t i = 0; i < inserted; ++i)
    ASSERT_NE(table.find(i * 2'654'435'761u, 0, numbered_key(i)), kNoFlow);
  EXPECT_EQ(table.find(7, 0, numbered_key(60'000)), kNoFlow);
}

TEST(FlowTable, GivesANewFlowACleanRecord) {
  HeapMemory memory;
  FlowTable table(1, memory);
  FlowNumber flow = table.insert(1, 0, numbered_key(1));
  table[flow].sent = {5, 500};
  table.dropped(flow) = {6, 600};
  table[flow].bucket.commit(BucketParameters(packets_per_second(1), {}), {1, 100}, kTestStart);
  table.erase(flow);
  flow = table.insert(2, 0, numbered_key(2));
  EXPECT_EQ(table[flow].sent, Count{});
  EXPECT_EQ(table.dropped(flow), Count{});
  EXPECT_TRUE(table[flow].queue.empty());
  EXPECT_TRUE(table[flow].bucket.as_new(kTestStart));
}

class FlowTableExpiry : public testing::Test {
 protected:
  FlowTableExpiry() : flow_(table_.insert(1, 0, numbered_key(1))) { table_[flow_].last_used = kTestStart; }

  std::size_t expire(Instant now) {
    std::size_t forgotten = 0;
    table_.expire(
        10, now - seconds(60), [now](const FlowRecord& record) { return record.bucket.as_new(now); },
        [&](const FlowRecord&) { ++forgotten; });
    return forgotten;
  }

  HeapMemory memory_;
  FlowTable table_{4, memory_};
  FlowNumber flow_;
};

TEST_F(FlowTableExpiry, ForgetsAFlowThatHasBeenIdleLongEnough) {
  EXPECT_EQ(expire(kTestStart + seconds(60) - Duration(1)), 0u);
  EXPECT_EQ(expire(kTestStart + seconds(60)), 1u);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.find(1, 0, numbered_key(1)), kNoFlow);
}

TEST_F(FlowTableExpiry, KeepsAFlowWithPacketsWaiting) {
  table_[flow_].queue = FlowQueue::of_packet(0);
  EXPECT_EQ(expire(kTestStart + seconds(1000)), 0u);
}

TEST_F(FlowTableExpiry, KeepsAFlowWhoseBucketIsNotAsNew) {
  table_[flow_].bucket.commit(BucketParameters(bits_per_second(1), {}), {1, 1000}, kTestStart);
  EXPECT_EQ(expire(kTestStart + seconds(7'999)), 0u);
  EXPECT_EQ(expire(kTestStart + seconds(8'000)), 1u);
}

TEST(FlowTable, LooksAtNoMoreRecordsThanAskedFor) {
  HeapMemory memory;
  FlowTable table(1000, memory);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    table[table.insert(i * 2'654'435'761u, 0, numbered_key(i))].last_used = kTestStart;
  }
  for (std::uint32_t calls = 1; calls <= 10; ++calls) {
    table.expire(
        100, kTestStart, [](const FlowRecord& record) { return record.bucket.as_new(kTestStart); },
        [](const FlowRecord&) {});
    ASSERT_EQ(table.size(), 1000 - 100 * calls);
  }
}

}  // namespace
}  // namespace headgate
