#include "linux/instance_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace headgate::test {
namespace {

std::string name_for_this_test(const std::string& suffix = "") {
  return "headgate/test/" + std::to_string(getpid()) + suffix;
}

TEST(InstanceLock, HasOneHolderWhoIsKnownByItsProcess) {
  EXPECT_FALSE(InstanceLock::find_holder(name_for_this_test()));
  {
    const auto lock = InstanceLock::acquire(name_for_this_test());
    ASSERT_TRUE(lock);
    EXPECT_FALSE(InstanceLock::acquire(name_for_this_test()));
    EXPECT_TRUE(InstanceLock::acquire(name_for_this_test("another")));
    const auto holder = InstanceLock::find_holder(name_for_this_test());
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->process, getpid());
    EXPECT_EQ(holder->to_string(), "process " + std::to_string(getpid()));
  }
  EXPECT_FALSE(InstanceLock::find_holder(name_for_this_test()));
  EXPECT_TRUE(InstanceLock::acquire(name_for_this_test()));
}

TEST(InstanceLock, IsFreeWhenItsHolderIsKilled) {
  const std::string name = name_for_this_test();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = InstanceLock::acquire(name);
    [[maybe_unused]] const auto written = write(ends[1], "r", 1);
    pause();
    _exit(1);
  }
  char ready = 0;
  ASSERT_EQ(read(ends[0], &ready, 1), 1);
  EXPECT_EQ(InstanceLock::find_holder(name)->process, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(InstanceLock::acquire(name));
  close(ends[0]);
  close(ends[1]);
}

TEST(InstanceLock, IsSeenToBeHeldHoweverOftenOneAsks) {
  const auto lock = InstanceLock::acquire(name_for_this_test());
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(InstanceLock::find_holder(name_for_this_test()));
}

TEST(InstanceLock, ANameThatIsTooLongIsRefused) {
  EXPECT_THROW(InstanceLock::acquire(std::string(108, 'x')), std::length_error);
}

}  // namespace
}  // namespace headgate::test
