#include "linux/available_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "service/temporary_directory.hpp"

namespace headgate {
namespace {

constexpr std::uint64_t kGibibyte = 1ULL << 30;

// A root directory with a /proc and a /sys of the test's own.
class AvailableMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    write("/proc/meminfo",
          "MemTotal:       24000000 kB\nMemFree:         1000 kB\nMemAvailable:   16777216 kB\n");
  }
  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path full = root.path().string() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << content;
  }
  AvailableMemory available(Held held = Held::does_not_count) const {
    const auto memory = available_memory(held, root.path().string());
    EXPECT_TRUE(memory.has_value());
    return memory.value_or(AvailableMemory{});
  }

  TemporaryDirectory root;
};

TEST_F(AvailableMemoryTest, IsWhatTheHostHasLeft) {
  EXPECT_EQ(available().size.bytes, 16 * kGibibyte);
  EXPECT_EQ(available().source, "MemAvailable of /proc/meminfo");
}

TEST_F(AvailableMemoryTest, IsBoundedByTheControlGroup) {
  write("/proc/self/cgroup", "0::/system.slice/headgated.service\n");
  write("/sys/fs/cgroup/system.slice/headgated.service/memory.max", "1073741824\n");
  EXPECT_EQ(available().size.bytes, kGibibyte);
  EXPECT_EQ(available().source, "/sys/fs/cgroup/system.slice/headgated.service/memory.max");
}

TEST_F(AvailableMemoryTest, IsBoundedByAGroupAboveItsOwn) {
  write("/proc/self/cgroup", "0::/system.slice/headgated.service\n");
  write("/sys/fs/cgroup/system.slice/headgated.service/memory.max", "max\n");
  write("/sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
  EXPECT_EQ(available().size.bytes, 2 * kGibibyte);
  EXPECT_EQ(available().source, "/sys/fs/cgroup/system.slice/memory.max");
}

TEST_F(AvailableMemoryTest, IsBoundedByAControlGroupOfVersion1) {
  write("/proc/self/cgroup", "4:cpu,memory:/docker/0a1b\n3:devices:/docker/0a1b\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");  // the container's own view
  EXPECT_EQ(available().size.bytes, kGibibyte / 2);
  write("/sys/fs/cgroup/memory/docker/0a1b/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(available().size.bytes, kGibibyte / 4);
}

TEST_F(AvailableMemoryTest, IsNotBoundedByALargerLimit) {
  write("/proc/self/cgroup", "4:memory:/\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(available().size.bytes, 16 * kGibibyte);
}

TEST_F(AvailableMemoryTest, HoldsWhatAHeadgatedHoldsWhereThatCounts) {
  write("/proc/17/comm", "headgated\n");
  write("/proc/17/statm", "300000 1000 100 1 0 1 0\n");
  write("/proc/18/comm", "systemd\n");
  write("/proc/18/statm", "300000 5000 100 1 0 1 0\n");
  EXPECT_EQ(available().size.bytes, 16 * kGibibyte);
  EXPECT_EQ(available(Held::counts).size.bytes,
            16 * kGibibyte + 1000 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST_F(AvailableMemoryTest, IsUnknownWithoutProc) {
  EXPECT_FALSE(available_memory(Held::counts, root.file("nothing")).has_value());
}

TEST(AvailableMemory, IsKnownOfThisHost) {
  const auto memory = available_memory(Held::does_not_count);
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->size.bytes, 1U << 20);
}

}  // namespace
}  // namespace headgate
