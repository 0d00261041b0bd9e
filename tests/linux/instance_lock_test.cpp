#include "linux/instance_lock.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "linux/child_process.hpp"

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
  ChildProcess holder([&name] { new auto(InstanceLock::acquire(name)); });
  EXPECT_EQ(InstanceLock::find_holder(name)->process, holder.process());
  holder.kill_now();
  EXPECT_TRUE(InstanceLock::acquire(name));
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
