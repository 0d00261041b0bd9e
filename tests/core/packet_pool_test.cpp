#include "core/packet_pool.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/shaper.hpp"
#include "support/heap_memory.hpp"
#include "support/packet_builder.hpp"

namespace headgate {
namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
  std::vector<std::byte> frame(bytes);
  for (std::size_t i = 0; i < bytes; ++i) frame[i] = std::byte(i * 31 + seed);
  return frame;
}

std::vector<std::byte> read_back(const PacketPool& pool, PacketHandle packet) {
  std::array<std::span<const std::byte>, kMaxFrameParts> parts;
  std::vector<std::byte> frame;
  const std::size_t count = pool.parts(packet, parts);
  for (const auto& part : std::span(parts).first(count)) frame.insert(frame.end(), part.begin(), part.end());
  return frame;
}

TEST(PacketPool, ReturnsFramesOfEveryLengthUnchanged) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{1024 * 1024}, memory_source);
  const std::uint32_t free = pool.free_chunks();
  for (std::size_t length = 0; length < 2000; ++length) {
    const std::vector<std::byte> frame = pattern(length);
    const PacketHandle packet = pool.store(frame, {});
    ASSERT_NE(packet, kNoPacket);
    ASSERT_EQ(pool[packet].length, length);
    ASSERT_EQ(read_back(pool, packet), frame) << length;
    ASSERT_EQ(free - pool.free_chunks(), PacketPool::chunks_for(length)) << length;
    pool.free(packet);
    ASSERT_EQ(pool.free_chunks(), free);
  }
}

TEST(PacketPool, HoldsTheLongestFrameInAsManyPartsAsPromised) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{1024 * 1024}, memory_source);
  const std::vector<std::byte> frame = pattern(65'535 + 14 + 10);
  EXPECT_LE(PacketPool::chunks_for(frame.size()), kMaxFrameParts);
  EXPECT_EQ(read_back(pool, pool.store(frame, {})), frame);
}

TEST(PacketPool, PutsAStrippedTagBackAfterTheMacAddresses) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{1024 * 1024}, memory_source);
  for (const std::size_t size : {64, 207, 208, 209, 256, 1514}) {
    PacketBuilder builder;
    builder.ipv4("10.0.0.1", "10.0.0.2").udp(1, 2).frame_size(size);
    const PacketHandle packet = pool.store(builder.build(), {.tpid = 0x88a8, .tci = 0x6123});
    EXPECT_EQ(read_back(pool, packet), builder.frame_size(size + 4).vlan(0x6123, 0x88a8).build());
  }
}

TEST(PacketPool, RefusesWhatDoesNotFitAndStaysWhole) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{10 * PacketPool::kChunkBytes}, memory_source);
  EXPECT_EQ(pool.chunks(), 10u);
  const PacketHandle first = pool.store(pattern(1514), {});
  EXPECT_EQ(pool.free_chunks(), 3u);
  EXPECT_EQ(pool.store(pattern(1000), {}), kNoPacket);
  EXPECT_EQ(pool.free_chunks(), 3u);
  const PacketHandle second = pool.store(pattern(400), {});
  EXPECT_NE(second, kNoPacket);
  EXPECT_EQ(pool.free_chunks(), 1u);
  EXPECT_EQ(read_back(pool, first), pattern(1514));
  EXPECT_EQ(read_back(pool, second), pattern(400));
}

TEST(PacketPool, KeepsPacketsApartThroughAnyStoringAndFreeing) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{200 * PacketPool::kChunkBytes}, memory_source);
  std::mt19937 random(7);
  struct Held {
    PacketHandle packet;
    std::vector<std::byte> frame;
  };
  std::vector<Held> held;
  for (unsigned step = 0; step < 20'000; ++step) {
    if (random() % 2) {
      const std::vector<std::byte> frame = pattern(random() % 1600, step);
      const bool room = PacketPool::chunks_for(frame.size()) <= pool.free_chunks();
      const PacketHandle packet = pool.store(frame, {});
      ASSERT_EQ(packet != kNoPacket, room);
      if (room) held.push_back({packet, frame});
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      ASSERT_EQ(read_back(pool, held.back().packet), held.back().frame);
      pool.free(held.back().packet);
      held.pop_back();
    }
  }
  for (const Held& each : held) pool.free(each.packet);
  EXPECT_EQ(pool.free_chunks(), pool.chunks());
}

TEST(PacketPool, KeepsThePrefixInFrontOfTheFrameAndTheTagBehindTheMacAddresses) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{4096}, memory_source);
  const auto memory = pattern(110);
  const PacketHandle packet = pool.store(std::span(memory).subspan(10), {.tpid = 0x8100, .tci = 7}, 10);
  const auto stored = read_back(pool, packet);
  ASSERT_EQ(stored.size(), 114u);
  EXPECT_TRUE(std::equal(stored.begin(), stored.begin() + 22, memory.begin()));
  EXPECT_EQ(stored[22], std::byte{0x81});
  EXPECT_EQ(stored[25], std::byte{7});
  EXPECT_TRUE(std::equal(stored.begin() + 26, stored.end(), memory.begin() + 22));
}

TEST(PacketPool, ALentFrameIsReadWhereItIsUntilItIsKept) {
  for (const StrippedTag tag : {StrippedTag{}, StrippedTag{.tpid = 0x88a8, .tci = 7}}) {
    HeapMemory memory_source;
    PacketPool pool(DataSize{1024 * 1024}, memory_source);
    const std::uint32_t free = pool.free_chunks();
    auto memory = pattern(10 + 60'000);
    const auto frame = std::span<const std::byte>(memory).subspan(10);
    const PacketHandle wanted = pool.store(frame, tag, 10);
    const PacketHandle lent = pool.store_lent(frame, tag, 10);
    EXPECT_EQ(free - pool.free_chunks(), 2 * PacketPool::chunks_for(pool[wanted].length));
    EXPECT_EQ(pool[lent].length, pool[wanted].length);
    EXPECT_EQ(read_back(pool, lent), read_back(pool, wanted));
    memory.back() ^= std::byte{1};
    EXPECT_NE(read_back(pool, lent), read_back(pool, wanted));
    memory.back() ^= std::byte{1};
    pool.keep_lent();
    std::fill(memory.begin(), memory.end(), std::byte{0});
    EXPECT_EQ(read_back(pool, lent), read_back(pool, wanted));
    pool.free(wanted);
    pool.free(lent);
    EXPECT_EQ(pool.free_chunks(), free);
  }
}

TEST(PacketPool, KeepsTheFirstPartOfAFrameInOneChunkAndItsLength) {
  for (const StrippedTag tag : {StrippedTag{}, StrippedTag{.tpid = 0x88a8, .tci = 7}}) {
    for (const std::size_t length : {std::size_t{90}, std::size_t{250}, std::size_t{60'000}}) {
      HeapMemory memory_source;
      PacketPool pool(DataSize{1024 * 1024}, memory_source);
      const auto memory = pattern(10 + length);
      const auto frame = std::span<const std::byte>(memory).subspan(10);
      const PacketHandle whole = pool.store(frame, tag, 10);
      const std::uint32_t free = pool.free_chunks();
      const PacketHandle first_part = pool.store_first_part(frame, tag, 10);
      EXPECT_EQ(free - pool.free_chunks(), 1u);
      EXPECT_EQ(pool[first_part].length, pool[whole].length);
      std::vector<std::byte> kept = read_back(pool, first_part);
      kept.resize(std::min<std::size_t>(pool[whole].length, PacketPool::kFirstPartBytes));
      std::vector<std::byte> wanted = read_back(pool, whole);
      wanted.resize(kept.size());
      EXPECT_EQ(kept, wanted);
      EXPECT_GE(pool.first_bytes(first_part).size(), kept.size());
      pool.free(first_part);
      EXPECT_EQ(pool.free_chunks(), free);
    }
  }
}

TEST(PacketPool, ASmallFrameIsCopiedEvenIfItIsLent) {
  HeapMemory memory_source;
  PacketPool pool(DataSize{1024 * 1024}, memory_source);
  auto memory = pattern(PacketPool::kLentFrom - 1);
  const PacketHandle packet = pool.store_lent(memory, {});
  std::fill(memory.begin(), memory.end(), std::byte{0});
  EXPECT_EQ(read_back(pool, packet), pattern(PacketPool::kLentFrom - 1));
}

TEST(PacketPool, LentFramesFillThePoolAsStoredOnesDo) {
  const auto memory = pattern(10'000);
  HeapMemory memory_source;
  PacketPool pool(DataSize{3 * PacketPool::chunks_for(memory.size()) * PacketPool::kChunkBytes},
                  memory_source);
  std::vector<PacketHandle> lent;
  for (int i = 0; i < 3; ++i) lent.push_back(pool.store_lent(memory, {}));
  EXPECT_EQ(pool.store_lent(memory, {}), kNoPacket);
  EXPECT_EQ(pool.store(pattern(1), {}), kNoPacket);
  pool.free(lent[0]);
  const PacketHandle small = pool.store(pattern(300), {});
  pool.keep_lent();
  for (const int i : {1, 2}) EXPECT_EQ(read_back(pool, lent[static_cast<std::size_t>(i)]), memory);
  EXPECT_EQ(read_back(pool, small), pattern(300));
  for (const PacketHandle packet : {small, lent[2], lent[1]}) pool.free(packet);
  EXPECT_EQ(pool.free_chunks(), pool.chunks());
}

}  // namespace
}  // namespace headgate
