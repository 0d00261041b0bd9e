#include "top/question.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate::top {
namespace {

using namespace std::chrono_literals;

// A socket that is asked; the test answers by itself.
struct QuestionTest : testing::Test {
  QuestionTest() { listen_again(); }
  ~QuestionTest() override { unlink(path.c_str()); }

  void listen_again() {
    unlink(path.c_str());
    listener = FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener.get(), 4), 0);
  }

  void ask() { question.ask({{"command", "show"}}, now, began + (now - Instant{})); }

  void answer(const std::string& text) {
    connection = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_EQ(write(connection.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  std::optional<Question::Json> take() { return question.take(began + (now - Instant{})); }

  std::string path = testing::TempDir() + "question-" + std::to_string(getpid()) + ".sock";
  FileDescriptor listener, connection;
  Question question{path};
  Instant now{1000s};
  const Question::WallTime began{};
};

TEST_F(QuestionTest, GivesTheReplyOnceWhenItIsWhole) {
  ask();
  EXPECT_TRUE(question.pending());
  EXPECT_EQ(take(), std::nullopt);
  answer("{\"schema\":1,");
  EXPECT_EQ(take(), std::nullopt);
  ASSERT_EQ(write(connection.get(), "\"pid\":7}\n", 9), 9);
  const auto reply = take();
  ASSERT_TRUE(reply);
  EXPECT_EQ((*reply)["pid"], 7);
  EXPECT_FALSE(question.pending());
  EXPECT_EQ(take(), std::nullopt);
  EXPECT_FALSE(question.failure(now));
}

TEST_F(QuestionTest, SaysAfterSomeSecondsThatNoAnswerComes) {
  ask();
  now += 2s;
  EXPECT_FALSE(question.failure(now));
  now += 2s;
  ASSERT_TRUE(question.failure(now));
  EXPECT_EQ(question.failure(now)->since, began + 1000s);
  answer("{\"schema\":1}\n");
  EXPECT_TRUE(take());
  EXPECT_FALSE(question.failure(now));
}

TEST_F(QuestionTest, LeavesAQuestionToBeAnsweredAndAsksAnewAfterTenSeconds) {
  ask();
  const int first = question.descriptor();
  now += 9s;
  ask();
  answer("");
  char byte = 0;
  EXPECT_GT(recv(connection.get(), &byte, 1, MSG_DONTWAIT), 0) << first;
  now += 2s;
  ask();
  std::string rest(1000, '\0');
  while (recv(connection.get(), rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
  }
  EXPECT_EQ(recv(connection.get(), &byte, 1, MSG_DONTWAIT), 0);  // it was given up
  answer("{\"schema\":1}\n");
  ASSERT_TRUE(question.failure(now));
  EXPECT_EQ(question.failure(now)->since, began + 1000s);
  EXPECT_TRUE(take());
}

TEST_F(QuestionTest, KeepsTheBeginningOfASilenceUntilThereIsAnAnswer) {
  listener = {};
  ask();
  EXPECT_FALSE(question.pending());
  now += 60s;
  ask();
  ASSERT_TRUE(question.failure(now));
  EXPECT_EQ(question.failure(now)->since, began + 1000s);
  EXPECT_TRUE(question.failure(now)->silent);
  listen_again();
  ask();
  EXPECT_TRUE(question.failure(now));
  answer("{\"schema\":1}\n");
  EXPECT_TRUE(take());
  EXPECT_FALSE(question.failure(now));
}

TEST_F(QuestionTest, TellsAnErrorThatIsAnAnswerFromSilence) {
  ask();
  answer(R"({"schema":1,"error":{"code":"unknown_class","message":"no class \"x\""}})"
         "\n");
  EXPECT_EQ(take(), std::nullopt);
  ASSERT_TRUE(question.failure(now));
  EXPECT_FALSE(question.failure(now)->silent);
  EXPECT_EQ(question.failure(now)->why, "no class \"x\"");
  question.drop();
  EXPECT_FALSE(question.failure(now));
}

}  // namespace
}  // namespace headgate::top
