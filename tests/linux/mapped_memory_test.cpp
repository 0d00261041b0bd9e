#include "linux/mapped_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <vector>

namespace headgate::test {
namespace {

constexpr std::size_t kMegabyte = 1024 * 1024;

// Pages of the area that are in memory.
std::size_t resident(const MemoryArea& area) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((area.size() + page - 1) / page);
  EXPECT_EQ(mincore(area.start(), area.size(), pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char one : pages) count += one & 1;
  return count * page;
}

TEST(MappedMemory, AnAreaTakesNothingUntilItGrows) {
  MappedMemory memory(false);
  const auto area = memory.reserve(64 * kMegabyte);
  EXPECT_GE(area->size(), 64 * kMegabyte);
  EXPECT_EQ(area->usable(), 0u);
  EXPECT_EQ(resident(*area), 0u);
}

TEST(MappedMemory, GrowsInSmallStepsFirstAndInPlace) {
  MappedMemory memory(false);
  const auto area = memory.reserve(64 * kMegabyte);
  std::byte* const start = area->start();
  ASSERT_TRUE(area->grow(1));
  EXPECT_GE(area->usable(), 1u);
  EXPECT_LE(area->usable(), 128 * 1024u);
  EXPECT_GE(resident(*area), area->usable()) << "using it costs no page fault";
  start[0] = std::byte{7};
  ASSERT_TRUE(area->grow(5 * kMegabyte));
  EXPECT_GE(area->usable(), 5 * kMegabyte);
  EXPECT_LT(area->usable(), 8 * kMegabyte);
  EXPECT_EQ(area->start(), start);
  EXPECT_EQ(start[0], std::byte{7});
  EXPECT_EQ(start[5 * kMegabyte - 1], std::byte{0});
}

TEST(MappedMemory, GrowsUpToItsSizeAndNoFurther) {
  MappedMemory memory(false);
  const auto area = memory.reserve(3 * kMegabyte);
  ASSERT_TRUE(area->grow(area->size()));
  EXPECT_EQ(area->usable(), area->size());
  area->start()[area->size() - 1] = std::byte{1};
}

TEST(MappedMemory, LocksWhatGrowsWhereTheProcessMay) {
  MappedMemory memory(true);
  const auto area = memory.reserve(4 * kMegabyte);
  ASSERT_TRUE(area->grow(3 * kMegabyte));
  EXPECT_GE(resident(*area), 3 * kMegabyte);
}

TEST(MappedMemory, MoreThanThereAreAddressesIsRefused) {
  MappedMemory memory(false);
  EXPECT_THROW(memory.reserve(std::size_t{1} << 50), std::bad_alloc);
}

}  // namespace
}  // namespace headgate::test
