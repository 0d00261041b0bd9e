#include "service/service_manager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
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
  void TearDown() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }
  std::string told() const {
    char buffer[1024];
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

TEST_F(ServiceManagerTest, AsksForMoreTime) {
  manager.extend_timeout(std::chrono::seconds(30));
  EXPECT_EQ(told(), "EXTEND_TIMEOUT_USEC=30000000");
}

TEST_F(ServiceManagerTest, TellsReloadingWithTheTime) {
  manager.reloading();
  EXPECT_THAT(told(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*"));
}

TEST_F(ServiceManagerTest, TellsStopping) {
  manager.stopping("sending what is queued");
  EXPECT_EQ(told(), "STOPPING=1\nSTATUS=sending what is queued");
}

TEST_F(ServiceManagerTest, FeedsTheWatchdogAtHalfItsInterval) {
  setenv("WATCHDOG_USEC", "2000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(manager.watchdog_interval(), std::chrono::seconds(1));
  manager.feed_watchdog();
  EXPECT_EQ(told(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, HasNoWatchdogUnlessAskedForThisProcess) {
  EXPECT_EQ(manager.watchdog_interval(), std::nullopt);
  setenv("WATCHDOG_USEC", "2000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(manager.watchdog_interval(), std::nullopt);
}

TEST_F(ServiceManagerTest, SaysNothingWithoutAServiceManager) {
  unsetenv("NOTIFY_SOCKET");
  manager.ready("shaping eth0");
  manager.feed_watchdog();
  EXPECT_EQ(told(), "nothing");
}

}  // namespace
}  // namespace headgate
