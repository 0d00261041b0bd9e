#include "linux/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace headgate::test {
namespace {

constexpr std::size_t kHugePage = 2 * 1024 * 1024;

TEST(HugePages, GivesLargeMemoryInWholePages) {
  std::pmr::vector<std::uint64_t> table(1'000'000, 7, huge_pages());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.data()) % kHugePage, 0u);
  EXPECT_EQ(table.front() + table.back(), 14u);
}

TEST(HugePages, GivesSmallMemoryAlignedAsAsked) {
  void* memory = huge_pages()->allocate(100, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
  huge_pages()->deallocate(memory, 100, 64);
}

}  // namespace
}  // namespace headgate::test
