// Each test has a redis-server of its own.
#include "budget/redis_talk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "linux/file_descriptor.hpp"
#include "support/redis_server.hpp"

namespace headgate {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr BudgetTerms kTerms{.rate = {100'000'000}, .floor = {1'000'000}, .hosts = 8, .lease = 2s};

class RedisTalkTest : public testing::Test {
 protected:
  explicit RedisTalkTest(std::vector<std::string> options = {}) : server(std::move(options)) {}
  ~RedisTalkTest() override { std::filesystem::remove(password_file); }

  void begin(Duration timeout, const std::string& password = {}) {
    talk.emplace(redis::Server{.address = server.address(), .timeout = timeout}, password, "host-1",
                 answered.get());
  }

  LeaseAnswers answers_to(std::vector<LeaseQuestion> questions) {
    talk->ask(std::move(questions));
    EXPECT_TRUE(talk->busy());
    pollfd ready{.fd = answered.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ready, 1, 60'000), 1);
    eventfd_t times = 0;
    eventfd_read(answered.get(), &times);
    std::optional<LeaseAnswers> answers = talk->take();
    EXPECT_FALSE(talk->busy());
    EXPECT_FALSE(talk->take());
    return answers.value_or(LeaseAnswers{.answers = {}, .trouble = "nothing to take"});
  }

  // Of one budget.
  LeaseAnswers ask(std::uint64_t serial) {
    return answers_to({{"uplink", {.serial = serial, .want = {7'000'000}, .terms = kTerms}}});
  }

  void expect_answer(std::uint64_t serial) {
    const LeaseAnswers answers = ask(serial);
    ASSERT_THAT(answers.trouble, IsEmpty());
    ASSERT_EQ(answers.answers.size(), 1u);
    const auto* reply = std::get_if<LeaseReply>(&answers.answers[0].reply);
    ASSERT_NE(reply, nullptr);
    EXPECT_EQ(reply->serial, serial);
  }

  void write_password(const std::string& text) { std::ofstream(password_file) << text; }

  test::RedisServer server;
  FileDescriptor answered{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::string password_file =
      std::filesystem::temp_directory_path() / ("headgate-talk-" + std::to_string(getpid()));
  std::optional<RedisTalk> talk;  // ends before what it uses
};

class WithPassword : public RedisTalkTest {
 protected:
  WithPassword() : RedisTalkTest({"--requirepass", "secret"}) {}
};

TEST_F(RedisTalkTest, BringsAnAnswerToEachQuestion) {
  begin(30s);
  const LeaseAnswers answers =
      answers_to({{"uplink", {.serial = 1, .want = {7'000'000}, .terms = kTerms}},
                  {"backup", {.serial = 5, .want = {7'000'000}, .terms = {{10'000}, {1'000}, 2, 2s}}}});
  EXPECT_THAT(answers.trouble, IsEmpty());
  ASSERT_EQ(answers.answers.size(), 2u);
  EXPECT_EQ(answers.answers[0].budget, "uplink");
  EXPECT_EQ(answers.answers[1].budget, "backup");
  const auto& uplink = std::get<LeaseReply>(answers.answers[0].reply);
  const auto& backup = std::get<LeaseReply>(answers.answers[1].reply);
  EXPECT_EQ(uplink.serial, 1u);
  EXPECT_EQ(uplink.grant, BitRate{1'000'000});
  EXPECT_EQ(uplink.bound, GrantBound::learning);
  EXPECT_EQ(backup.serial, 5u);
  EXPECT_EQ(backup.grant, BitRate{1'000});
}

TEST_F(RedisTalkTest, SaysThatTheServerIsGoneAndGoesOnWhenItIsBack) {
  begin(30s);
  expect_answer(1);
  server.stop();
  EXPECT_THAT(ask(2).trouble, HasSubstr("Redis at " + server.address() + ": cannot connect"));
  EXPECT_THAT(ask(3).trouble, HasSubstr("cannot connect"));
  server.start();
  expect_answer(4);
}

TEST_F(RedisTalkTest, GivesUpOnAServerThatHangs) {
  begin(50ms);
  expect_answer(1);
  server.pause();
  EXPECT_THAT(ask(2).trouble, HasSubstr("no answer within 50000 us"));
  EXPECT_THAT(ask(3).trouble, HasSubstr("within 50000 us"));
  server.go_on();
  talk.reset();
  begin(30s);
  expect_answer(4);
}

TEST_F(RedisTalkTest, EndsWhileTheServerHangs) {
  begin(50ms);
  server.pause();
  talk->ask({{"uplink", {.serial = 1, .terms = kTerms}}});
  talk.reset();
  server.go_on();
}

TEST_F(RedisTalkTest, SendsTheScriptAgainThatTheServerHasForgotten) {
  begin(30s);
  expect_answer(1);
  server.ask({"SCRIPT", "FLUSH"});
  expect_answer(2);
}

TEST_F(RedisTalkTest, SaysWhatTheServerRefuses) {
  begin(30s);
  expect_answer(1);
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(ask(2).trouble, HasSubstr("OOM"));
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  server.ask({"REPLICAOF", "192.0.2.1", "6379"});
  server.ask({"CONFIG", "SET", "replica-serve-stale-data", "yes"});
  EXPECT_THAT(ask(3).trouble, HasSubstr("READONLY"));
  server.ask({"REPLICAOF", "NO", "ONE"});
  expect_answer(4);
  server.ask({"SET", "headgate:{uplink}", "something else"});
  EXPECT_THAT(ask(5).trouble, HasSubstr("WRONGTYPE"));
}

// They stand in headgate-budget(7).
TEST_F(RedisTalkTest, NeedsNoFurtherPermissions) {
  server.ask({"ACL", "SETUSER", "other", "on", "nopass", "~*", "+@all"});
  server.ask({"AUTH", "other", ""});
  server.ask({"ACL", "SETUSER", "default", "reset", "on", ">secret", "~headgate:*", "+evalsha",
              "+script|load", "+info", "+time", "+hmget", "+hvals", "+hgetall", "+hset", "+hdel", "+del",
              "+pexpire"});
  write_password("secret\n");
  begin(30s, password_file);
  for (std::uint64_t serial = 1; serial <= 3; ++serial) expect_answer(serial);
  // A host that goes is forgotten: another one proves that its lease is over.
  const LeaseAnswers answers = answers_to({{"uplink", {.serial = 4, .terms = kTerms}}});
  const auto& reply = std::get<LeaseReply>(answers.answers.at(0).reply);
  talk.emplace(redis::Server{.address = server.address(), .timeout = 30s}, password_file, "host-2",
               answered.get());
  EXPECT_THAT(answers_to({{"uplink",
                           {.serial = 1,
                            .epoch = reply.epoch,
                            .aged = reply.event,
                            .aged_for = kTerms.lease,
                            .terms = kTerms}}})
                  .trouble,
              IsEmpty());
  EXPECT_EQ(server.ask({"HEXISTS", "headgate:{uplink}", "host-1"}), "0");
  server.ask({"ACL", "SETUSER", "default", "-hset"});
  EXPECT_THAT(ask(2).trouble, HasSubstr("can't run this command"));
}

TEST_F(WithPassword, IsReadAtEachConnection) {
  begin(30s, password_file);
  EXPECT_EQ(ask(1).trouble, "cannot read a password from " + password_file + ": No such file or directory");
  write_password("wrong\n");
  EXPECT_THAT(ask(2).trouble, HasSubstr("WRONGPASS"));
  write_password("secret\nwhat stands below does not matter\n");
  expect_answer(3);
}

TEST_F(WithPassword, IsNotWaitedFor) {
  ASSERT_EQ(mkfifo(password_file.c_str(), 0600), 0);
  begin(30s, password_file);
  EXPECT_THAT(ask(1).trouble, HasSubstr("this is not a regular file"));
  std::filesystem::remove(password_file);
  write_password("");
  EXPECT_THAT(ask(2).trouble, HasSubstr("the file is empty"));
  write_password(std::string(5000, 'x'));
  EXPECT_THAT(ask(3).trouble, HasSubstr("its first line has more than 4096 characters"));
}

TEST_F(WithPassword, IsAskedForByTheServer) {
  begin(30s);
  EXPECT_THAT(ask(1).trouble, HasSubstr("NOAUTH"));
}

}  // namespace
}  // namespace headgate
