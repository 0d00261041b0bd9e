#include "linux/instance_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <system_error>

#include "linux/child_process.hpp"
#include "linux/divert_fixture.hpp"
#include "service/temporary_directory.hpp"

namespace headgate::test {
namespace {

using testing::HasSubstr;

constexpr char kName[] = "net1-if2-egress.lock";

class InstanceLockTest : public testing::Test {
 protected:
  std::string path() const { return directory_.path(); }
  std::string file(const std::string& name = kName) const { return directory_.file(name); }
  std::optional<InstanceLock> acquire(const std::string& name = kName) const {
    return InstanceLock::acquire(name, path());
  }
  std::optional<pid_t> holder() const { return InstanceLock::find_holder(kName, path()); }

 private:
  TemporaryDirectory directory_;
};

TEST_F(InstanceLockTest, HasOneHolderWhoIsKnownByItsProcess) {
  EXPECT_FALSE(holder());
  {
    const auto lock = acquire();
    ASSERT_TRUE(lock);
    EXPECT_FALSE(acquire());
    EXPECT_TRUE(acquire("net1-if2-ingress.lock"));
    EXPECT_EQ(holder(), getpid());
  }
  EXPECT_FALSE(holder());
  EXPECT_TRUE(acquire());
}

TEST_F(InstanceLockTest, ACleanEndRemovesTheFile) {
  {
    const auto lock = acquire();
    EXPECT_TRUE(std::filesystem::exists(file()));
    EXPECT_FALSE(acquire());  // who is refused leaves it
    EXPECT_TRUE(std::filesystem::exists(file()));
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(InstanceLockTest, IsFreeWhenItsHolderIsKilled) {
  ChildProcess killed([this] { new auto(acquire()); });
  EXPECT_EQ(holder(), killed.process());
  EXPECT_FALSE(acquire());
  killed.kill_now();
  EXPECT_FALSE(holder());
  EXPECT_TRUE(std::filesystem::exists(file()));
  EXPECT_TRUE(acquire());
}

TEST_F(InstanceLockTest, IsSeenToBeHeldHoweverOftenOneAsksAndAskingDoesNotTakeIt) {
  const auto other = acquire("net1-if3-egress.lock");
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(InstanceLock::find_holder("net1-if3-egress.lock", path()));
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(holder());
}

TEST_F(InstanceLockTest, OfManyWhoComeAndGoOneAtATimeHasIt) {
  // Each notes its number in the file that the lock guards, and finds it there as long as it holds the lock.
  const std::string guarded = file("guarded");
  const auto compete = [&]() -> std::string {
    for (int taken = 0; taken < 200;) {
      const auto lock = acquire();
      if (!lock) continue;
      ++taken;
      std::ofstream(guarded) << getpid() << std::endl;
      pid_t found = 0;
      std::ifstream(guarded) >> found;
      if (found != getpid()) return "two of them hold it";
    }
    return "done";
  };
  auto other = std::async(std::launch::async, [&] { return result_in_child(compete); });
  EXPECT_EQ(result_in_child(compete), "done");
  EXPECT_EQ(other.get(), "done");
}

TEST_F(InstanceLockTest, ItsFileIsReadableByItsOwnerAlone) {
  const mode_t before = umask(0);
  const auto lock = acquire();
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(InstanceLockTest, SweepRemovesWhatNobodyHoldsAndNothingElse) {
  ChildProcess killed([this] { new auto(acquire()); });
  killed.kill_now();
  const auto held = acquire("net1-if3-egress.lock");
  std::ofstream(file("control.sock")) << "not a lock";
  InstanceLock::sweep(path());
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_TRUE(std::filesystem::exists(file("net1-if3-egress.lock")));
  EXPECT_TRUE(std::filesystem::exists(file("control.sock")));
  InstanceLock::sweep(file("none"));  // not an error
}

TEST_F(InstanceLockTest, ADirectoryThatOthersMayWriteIsRefused) {
  for (const mode_t mode : {0777u, 01777u, 0775u}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    EXPECT_THAT(message_of([this] { acquire(); }), HasSubstr("may be written by others than its owner"));
  }
  ASSERT_EQ(chmod(path().c_str(), 0755), 0);
  EXPECT_TRUE(acquire());
}

TEST_F(InstanceLockTest, NoSymbolicLinkIsFollowed) {
  std::filesystem::create_directory_symlink(path(), file("link"));
  EXPECT_THAT(message_of([this] { InstanceLock::acquire(kName, file("link")); }),
              HasSubstr("is no directory, expected one for the locks of headgated"));
  std::filesystem::create_symlink(file("target"), file());
  EXPECT_THROW(acquire(), std::system_error);
  EXPECT_FALSE(std::filesystem::exists(file("target")));
  EXPECT_FALSE(holder());
}

TEST_F(InstanceLockTest, ADirectoryThatIsNotThereIsMadeByRootAlone) {
  const std::string missing = file("missing");
  if (geteuid() != 0) {
    EXPECT_THROW(InstanceLock::acquire(kName, missing), std::system_error);
    return;
  }
  const mode_t before = umask(077);
  EXPECT_TRUE(InstanceLock::acquire(kName, missing));
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(missing.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755u);
}

}  // namespace
}  // namespace headgate::test
