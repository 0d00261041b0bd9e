// Memory is taken when it is used, and its end is a counted drop.
#include <gtest/gtest.h>

#include <vector>

#include "core/growing_table.hpp"
#include "core/record_table.hpp"
#include "core/schedule.hpp"
#include "core/timing_wheel.hpp"
#include "support/lone_shaper.hpp"
#include "support/shaper_harness.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;

TEST(GrowingTable, BeginsSmallAndGrowsToItsCapacityInSteps) {
  HeapMemory memory;
  GrowingTable<std::uint64_t> table(kMegabyte, memory);
  EXPECT_EQ(memory.used(), 64u * 1024);
  std::size_t growths = 0;
  for (std::size_t in_use = 0; in_use < table.capacity(); ++in_use) {
    const std::size_t before = table.usable();
    table.grow_ahead(in_use);
    growths += table.usable() > before ? 1 : 0;
    ASSERT_GT(table.usable(), in_use);
    ASSERT_EQ(table[in_use], 0u);
    table[in_use] = in_use;
  }
  EXPECT_EQ(memory.used(), 8 * kMegabyte);
  EXPECT_LT(growths, 70u);
}

TEST(GrowingTable, KeepsMemoryReadyAhead) {
  HeapMemory memory;
  GrowingTable<std::uint64_t> table(kMegabyte, memory);
  table.grow_ahead(table.usable());
  EXPECT_GE(table.usable(), 2 * 64u * 1024 / sizeof(std::uint64_t));
  const std::size_t ready = table.usable();
  table.grow_ahead(0);
  EXPECT_EQ(table.usable(), ready);
}

TEST(GrowingTable, AsksNoEmptySourceEachTimeButLearnsThatItHasMoreAgain) {
  HeapMemory memory;
  GrowingTable<std::uint64_t> table(kMegabyte, memory);
  memory.limit = memory.used();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(table.grow_to(table.capacity()));
  EXPECT_EQ(memory.refusals(), 2u);
  memory.limit *= 1000;
  int attempts = 1;
  while (!table.grow_to(table.capacity())) ++attempts;
  EXPECT_LE(attempts, 64);
}

TEST(RecordTable, GivesNumbersOfWhatIsMemoryAlone) {
  HeapMemory memory;
  RecordTable<std::uint64_t> table(100'000, memory);
  const std::uint32_t first = table.ready();
  EXPECT_LT(first, 100'000u);
  memory.limit = memory.used();
  EXPECT_FALSE(table.make_ready(first + 1));
  EXPECT_TRUE(table.make_ready(first));
  for (std::uint32_t i = 0; i < first; ++i) table[table.take()] = i;
  EXPECT_FALSE(table.make_ready(1));
  table.give_back(5);
  EXPECT_TRUE(table.make_ready(1));
  EXPECT_EQ(table.take(), 5u);
}

TEST(TimingWheel, HoldsWhatIsReservedHoweverItIsSpread) {
  for (const std::uint32_t capacity : {1u, 15u, 16u, 17u, 96u, 97u, 5'000u, 50'000u}) {
    HeapMemory memory;
    TimingWheel wheel(capacity, memory);
    wheel.start_at(kTestStart);
    Instant due = kTestStart;
    for (std::uint32_t entries = 0; entries < capacity; ++entries) {
      ASSERT_TRUE(wheel.reserve(entries + 1)) << entries << " of " << capacity;
      due += Duration((entries * 2'654'435'761u) % 100'000'000);
      wheel.insert({.due = due, .flow = entries});
    }
    EXPECT_FALSE(wheel.reserve(capacity + 1));
    for (std::uint32_t entries = 0; entries < capacity; ++entries)
      ASSERT_EQ(wheel.pop(Instant::max())->flow, entries);
  }
}

TEST(TimingWheel, KeepsItsEntriesWhenThereIsNoMoreMemory) {
  HeapMemory memory;
  TimingWheel wheel(1'000'000, memory);
  wheel.start_at(kTestStart);
  memory.limit = memory.used();
  std::uint32_t entries = 0;
  for (; wheel.reserve(entries + 1); ++entries)
    wheel.insert({.due = kTestStart + Duration(entries * 1'000), .flow = entries});
  EXPECT_GT(entries, 0u);
  EXPECT_LT(entries, 10'000u);
  // Over and over, as flows come back: each time what is due comes first, and there is room for it again.
  Instant now = kTestStart;
  for (std::uint32_t i = 0; i < 5 * entries; ++i) {
    const auto item = wheel.pop(now);
    ASSERT_TRUE(item);
    ASSERT_EQ(item->flow, i % entries);
    wheel.insert({.due = item->due + Duration(entries * 1'000), .flow = item->flow});
    now += Duration(1'000);
  }
}

TEST(TimingWheel, TouchesLittleMemoryWhenFewEntriesComeAndGo) {
  HeapMemory memory;
  TimingWheel wheel(1'000'000, memory);
  wheel.start_at(kTestStart);
  ASSERT_TRUE(wheel.reserve(100));
  const std::size_t used = memory.used();
  const Instant overdue = kTestStart - Duration(1);  // all in the front
  for (std::uint32_t flow = 0; flow < 100; ++flow) wheel.insert({.due = overdue, .flow = flow});
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const auto item = wheel.pop(kTestStart);
    ASSERT_TRUE(item);
    ASSERT_EQ(item->flow, i % 100);
    wheel.insert({.due = overdue, .flow = item->flow});
  }
  EXPECT_EQ(memory.used(), used);
}

TEST(MemoryGrowth, AShapeTakesLittleUntilItIsUsed) {
  LoneShaper shaper({.memory = DataSize{256 * kMegabyte}, .max_flows = 65'536},
                    {shaped_class("clients", packets_per_second(1))}, kTestStart);
  EXPECT_LT(shaper.memory.used(), 6 * kMegabyte);
}

TEST(MemoryGrowth, FollowsWhatIsQueued) {
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1), {.packets = 1'000'000})});
  const std::size_t before = shaper.shaper.memory.used();
  NumberedPackets packets;
  for (std::uint32_t i = 0; i < 40'000; ++i) {
    const ArrivingPacket packet = packets.make(shaper.classes, 0, {i % 20'000, i}, 100, shaper.now);
    shaper.shaper.admit({&packet, 1}, shaper.now);
    packets.clear();
  }
  EXPECT_EQ(shaper.class_statistics().queued.packets, 40'000u);
  EXPECT_GT(shaper.shaper.memory.used(), before + 40'000 * 256);
  EXPECT_EQ(shaper.shaper.memory.refusals(), 0u);
  EXPECT_EQ(shaper.release_all(64).size(), 40'000u);
}

TEST(MemoryGrowth, NothingIsWrongWhenABatchNeedsMoreThanIsReady) {
  // 20 000 flows with two packets each, in one batch: beyond what is ready of every table.
  ShaperHarness shaper({shaped_class("clients", packets_per_second(1))});
  std::vector<PacketIdentity> batch;
  batch.reserve(40'000);
  for (std::uint32_t i = 0; i < 40'000; ++i) batch.push_back({i % 20'000, i});
  shaper.arrive_in_batch(batch);
  EXPECT_EQ(shaper.class_statistics().queued.packets, 40'000u);
  EXPECT_EQ(shaper.class_statistics().flows, 20'000u);
  EXPECT_EQ(shaper.run().size(), 40'000u);
}

// A host that has no more memory from some moment on.
class NoMoreMemory : public testing::Test {
 protected:
  NoMoreMemory() : shaper_({shaped_class("clients", packets_per_second(1), {.packets = 1'000'000})}) {
    HeapMemory& memory = shaper_.shaper.memory;
    memory.limit = memory.used();
  }

  void arrive(std::uint32_t flow, std::size_t bytes = 100) {
    NumberedPackets packets;
    const ArrivingPacket packet = packets.make(shaper_.classes, 0, {flow, serial_++}, bytes, shaper_.now);
    shaper_.shaper.admit({&packet, 1}, shaper_.now);
  }
  std::uint64_t dropped(DropReason reason) { return dropped_for(shaper_.class_statistics(), reason).packets; }

  ShaperHarness shaper_;
  std::uint32_t serial_ = 0;
};

TEST_F(NoMoreMemory, ANewFlowIsDroppedAsIfTheTableWereFull) {
  for (std::uint32_t flow = 0; flow < 5'000; ++flow) arrive(flow);
  const ClassStatistics statistics = shaper_.class_statistics();
  expect_law(shaper_.statistics());
  EXPECT_GT(statistics.flows, 500u);
  EXPECT_GT(dropped(DropReason::flow_table_full), 1'000u);
  EXPECT_EQ(statistics.queued.packets + total(statistics.dropped).packets, 5'000u);
  EXPECT_EQ(shaper_.run().size(), statistics.queued.packets);
}

TEST_F(NoMoreMemory, TheLongestQueuePaysThenToo) {
  for (int i = 0; i < 10'000; ++i) arrive(1);
  const std::uint64_t queued = shaper_.class_statistics().queued.packets;
  EXPECT_GT(queued, 8'000u);
  for (int i = 0; i < 10'000; ++i) arrive(1);
  const std::uint64_t full = shaper_.class_statistics().queued.packets;
  EXPECT_EQ(full + dropped(DropReason::pool_full), 20'000u);
  arrive(2);
  arrive(3, 1500);
  EXPECT_EQ(shaper_.class_statistics().flows, 3u);
  EXPECT_EQ(shaper_.class_statistics().queued.packets, full + 2 - 8) << "the new packets have eight chunks";
  expect_law(shaper_.statistics());
}

TEST_F(NoMoreMemory, PacketsAreQueuedAgainOnceThereIsMore) {
  for (int i = 0; i < 20'000; ++i) arrive(1);
  const std::uint64_t full = shaper_.class_statistics().queued.packets;
  shaper_.shaper.memory.limit *= 1000;
  for (int i = 0; i < 1'000; ++i) arrive(1);
  EXPECT_GT(shaper_.class_statistics().queued.packets, full + 900);
  expect_law(shaper_.statistics());
}

TEST_F(NoMoreMemory, AReconfigurationKeepsTheLaw) {
  // One queue of many packets becomes many queues of one, for which there is no memory.
  for (int i = 0; i < 5'000; ++i) arrive(1);
  const std::uint64_t queued = shaper_.class_statistics().queued.packets;
  ClassConfig keyed = shaper_.classes[0];
  keyed.key.source_address = true;
  shaper_.shaper.reconfigure(
      {keyed},
      [](ArrivingPacket& packet) {
        packet.class_index = 0;
        packet.key = numbered_key(identity_of(packet.frame).serial);
        packet.flow_hash = hash_key(packet.key, class_hash_seed("clients", 1));
      },
      shaper_.now);
  const ClassStatistics statistics = shaper_.class_statistics();
  expect_law(shaper_.statistics());
  EXPECT_EQ(statistics.queued.packets + dropped(DropReason::flow_table_full) + dropped(DropReason::pool_full),
            queued);
  EXPECT_GT(statistics.queued.packets, 500u);
  EXPECT_GT(dropped(DropReason::flow_table_full), 1'000u);
  EXPECT_EQ(shaper_.release_all(64).size(), statistics.queued.packets);
}

TEST(MemoryGrowth, AScheduleThatIsTooSmallForItsShapesDropsAndKeepsTheLaw) {
  // Two flows may wait at a time, whatever the shape would allow.
  HeapMemory memory;
  Schedule schedule({.memory = DataSize{kMegabyte}, .max_flows = 2}, memory, kTestStart);
  const std::vector<ClassConfig> classes{shaped_class("clients", packets_per_second(1))};
  Shaper shaper({}, classes, memory);
  schedule.add(shaper);
  NumberedPackets packets;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const ArrivingPacket packet = packets.make(classes, 0, {i, i}, 100, kTestStart);
    shaper.admit({&packet, 1}, kTestStart);
  }
  const ShaperStatistics statistics = shaper.statistics(kTestStart);
  expect_law(statistics);
  EXPECT_EQ(statistics.queued.packets, 2u);
  EXPECT_EQ(dropped_for(statistics.classes[0], DropReason::pool_full).packets, 8u);
  shaper.drop_all(DropReason::stop);
  schedule.remove(shaper);
}

TEST(MemoryGrowth, AShapeThatFindsNoMemoryAtAllIsRefused) {
  HeapMemory memory;
  memory.limit = 4096;
  EXPECT_THROW(Shaper({}, {shaped_class("clients", packets_per_second(1))}, memory), std::bad_alloc);
  EXPECT_THROW(Schedule({}, memory, kTestStart), std::bad_alloc);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace headgate
