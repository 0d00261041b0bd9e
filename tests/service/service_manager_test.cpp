#include "service/service_manager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "linux/file_descriptor.hpp"
#include "temporary_directory.hpp"

namespace headgate {
namespace {

using testing::MatchesRegex;

// Plays systemd: the socket that NOTIFY_SOCKET names.
class ServiceManagerTest : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    socket = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  void TearDown() override { unsetenv("NOTIFY_SOCKET"); }
  std::string told() const {
    char buffer[4096];
    const ssize_t length = recv(socket.get(), buffer, sizeof buffer, 0);
    return length < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(length));
  }

  TemporaryDirectory directory;
  std::string path = directory.file("notify");
  FileDescriptor socket;
  ServiceManager manager;
};

TEST_F(ServiceManagerTest, TellsReadyWithAStatus) {
  manager.ready("shaping eth0");
  EXPECT_EQ(told(), "READY=1\nSTATUS=shaping eth0");
}

TEST_F(ServiceManagerTest, TellsAStatusInOneLine) {
  manager.status("eth0 is down\nREADY=1");
  EXPECT_EQ(told(), "STATUS=eth0 is down READY=1");
}

TEST_F(ServiceManagerTest, TellsReloadingWithTheTime) {
  manager.reloading();
  EXPECT_THAT(told(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*"));
}

TEST_F(ServiceManagerTest, TellsStopping) {
  manager.stopping("sending what is queued");
  EXPECT_EQ(told(), "STOPPING=1\nSTATUS=sending what is queued");
}

TEST_F(ServiceManagerTest, FeedsTheWatchdog) {
  manager.feed_watchdog();
  EXPECT_EQ(told(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, AsksForMoreTime) {
  manager.extend_timeout(std::chrono::seconds(5));
  EXPECT_EQ(told(), "EXTEND_TIMEOUT_USEC=5000000");
}

TEST_F(ServiceManagerTest, ShowsWhatCannotBeSeenInAStatus) {
  manager.status("eth0\u202e\033[2J");
  EXPECT_EQ(told(), "STATUS=eth0\\u202e\\x1b[2J");
}

// systemd ignores what is longer, READY=1 with it.
TEST_F(ServiceManagerTest, CutsALongStatusShortAtAWholeCharacter) {
  std::string status(1999, 'x');
  for (int i = 0; i < 5000; ++i) status += "→";
  manager.ready(status);
  EXPECT_EQ(told(), "READY=1\nSTATUS=" + std::string(1999, 'x') + "...");
}

TEST_F(ServiceManagerTest, FindsASocketInTheAbstractNamespace) {
  const std::string name = "headgate-test-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  socket = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  manager.feed_watchdog();
  EXPECT_EQ(told(), "WATCHDOG=1");
}

// A manager that takes nothing any more until it is drained.
class FullServiceManager : public ServiceManagerTest {
 protected:
  void SetUp() override {
    ServiceManagerTest::SetUp();
    int filled = 0;
    for (; told_by_another("full"); ++filled) {
    }
    ASSERT_GT(filled, 0);
  }
  bool told_by_another(const std::string& text) const {
    const FileDescriptor other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return sendto(other.get(), text.data(), text.size(), MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&address), sizeof address) > 0;
  }
  void drain() const {
    while (told() != "nothing") {
    }
  }
};

TEST_F(FullServiceManager, IsNotWaitedForAndHearsThatItIsReadyWhenItListensAgain) {
  manager.ready("shaping eth0");
  manager.status("shaping eth0");
  manager.feed_watchdog();
  drain();
  manager.status("shaping eth1");
  EXPECT_EQ(told(), "READY=1\nSTATUS=shaping eth0");
  EXPECT_EQ(told(), "STATUS=shaping eth1");
  EXPECT_EQ(told(), "nothing") << "what was told once is not told again, and a status is of its time";
}

TEST_F(FullServiceManager, HearsOfTheLastOfManyReloads) {
  manager.ready("at the start");
  for (int i = 0; i < 100; ++i) {
    manager.reloading();
    manager.ready("reload " + std::to_string(i));
  }
  manager.stopping("sending what is queued");
  drain();
  manager.feed_watchdog();
  EXPECT_THAT(told(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*"));
  EXPECT_EQ(told(), "READY=1\nSTATUS=reload 99");
  EXPECT_EQ(told(), "STOPPING=1\nSTATUS=sending what is queued");
  EXPECT_EQ(told(), "WATCHDOG=1");
  EXPECT_EQ(told(), "nothing");
}

TEST_F(FullServiceManager, DoesNotHearThatItIsReadyWhileAReloadGoesOn) {
  manager.ready("before");
  manager.reloading();
  drain();
  manager.extend_timeout(std::chrono::milliseconds(1500));
  EXPECT_THAT(told(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*"));
  EXPECT_EQ(told(), "EXTEND_TIMEOUT_USEC=1500000");
}

TEST_F(ServiceManagerTest, HearsThatItIsReadyWhenItsSocketComesBack) {
  std::filesystem::rename(path, directory.file("away"));
  manager.ready("shaping eth0");
  std::filesystem::rename(directory.file("away"), path);
  manager.feed_watchdog();
  EXPECT_EQ(told(), "READY=1\nSTATUS=shaping eth0");
  EXPECT_EQ(told(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, SaysNothingWithoutAServiceManager) {
  unsetenv("NOTIFY_SOCKET");
  manager.ready("shaping eth0");
  manager.feed_watchdog();
  EXPECT_EQ(told(), "nothing");
}

}  // namespace
}  // namespace headgate
