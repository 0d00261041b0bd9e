#include "linux/processor_share.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace headgate::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class ProcessorShareTest : public testing::Test {
 protected:
  ProcessorShareTest() : root_(testing::TempDir() + "/processor_share-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
  }
  ~ProcessorShareTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  const std::string root_;
};

TEST_F(ProcessorShareTest, NamesTheControlGroupThatWasThrottled) {
  write("/proc/self/cgroup", "0::/system.slice/headgated.service\n");
  write("/sys/fs/cgroup/system.slice/headgated.service/cpu.stat", "usage_usec 5\nthrottled_usec 1000\n");
  write("/sys/fs/cgroup/system.slice/cpu.stat", "usage_usec 5\nthrottled_usec 7\n");
  ProcessorShare share(1, root_);
  write("/sys/fs/cgroup/system.slice/headgated.service/cpu.stat", "usage_usec 5\nthrottled_usec 91000\n");
  const ProcessorWait wait = share.since_last();
  EXPECT_EQ(wait.throttled, milliseconds(90));
  EXPECT_EQ(wait.throttled_by, "/system.slice/headgated.service");
  EXPECT_EQ(share.since_last().throttled, Duration::zero());
}

TEST_F(ProcessorShareTest, FindsAQuotaOfAGroupAboveAndOfTheFirstVersion) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/a/b\n2:memory:/c\n");
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_throttled 0\nthrottled_time 0\n");
  ProcessorShare share(1, root_);
  write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "nr_throttled 1\nthrottled_time 5000\n");
  const ProcessorWait wait = share.since_last();
  EXPECT_EQ(wait.throttled, microseconds(5));
  EXPECT_EQ(wait.throttled_by, "/a");
}

TEST_F(ProcessorShareTest, TellsHowLongTheThreadWaited) {
  write("/proc/self/task/7/schedstat", "100 2000000 9\n");
  ProcessorShare share(7, root_);
  write("/proc/self/task/7/schedstat", "100 5000000 9\n");
  EXPECT_EQ(share.since_last().waited, milliseconds(3));
}

TEST_F(ProcessorShareTest, WhatCannotBeReadIsNothing) {
  ProcessorShare share(1, root_);
  const ProcessorWait wait = share.since_last();
  EXPECT_EQ(wait.throttled, Duration::zero());
  EXPECT_EQ(wait.throttled_by, "");
  EXPECT_EQ(wait.waited, Duration::zero());
}

}  // namespace
}  // namespace headgate::test
