#include "log_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <sstream>
#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate {
namespace {

constexpr Duration kLong = std::chrono::seconds(20);  // only a hang reaches it

std::string lost(std::uint64_t lines) {
  return "lost " + std::to_string(lines) + "\n";
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return;
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
  }

  // Leaves no room in it.
  void fill() const {
    const int flags = fcntl(writer.get(), F_GETFL);
    fcntl(writer.get(), F_SETFL, flags | O_NONBLOCK);
    while (write(writer.get(), "~", 1) == 1) {
    }
    fcntl(writer.get(), F_SETFL, flags);
  }

  FileDescriptor reader, writer;
};

// What comes until `end` is at its end.
std::string read_until(int descriptor, const std::string& end) {
  std::string all;
  std::array<char, 4096> buffer;
  while (!all.ends_with(end)) {
    const ssize_t length = read(descriptor, buffer.data(), buffer.size());
    if (length <= 0) return all + "(no more)";
    all.append(buffer.data(), static_cast<std::size_t>(length));
  }
  return all.substr(std::min(all.size(), all.find_first_not_of('~')));
}

void write_numbers(LogWriter& log, int count) {
  for (int i = 0; i < count; ++i) log.write("line " + std::to_string(i) + "\n");
}

// Each line stands in its place, or the loss report that stands there counts it.
void expect_no_gap(const std::string& all, int count) {
  std::istringstream lines(all);
  std::string word;
  int number = 0, next = 0, losses = 0;
  while (lines >> word >> number) {
    if (word == "lost") {
      next += number;
      ++losses;
    } else {
      ASSERT_EQ(number, next++);
    }
  }
  EXPECT_EQ(next, count);
  EXPECT_GT(losses, 0);
}

TEST(LogWriter, WritesWhatItIsGiven) {
  const Pipe pipe;
  LogWriter log(pipe.writer.get(), lost);
  log.write("one\n");
  log.write("two\n");
  EXPECT_EQ(read_until(pipe.reader.get(), "two\n"), "one\ntwo\n");
  EXPECT_TRUE(log.flush(kLong));
}

TEST(LogWriter, HasWrittenWhatIsTakenAtOnceWhenItReturns) {
  const Pipe pipe;
  fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
  LogWriter log(pipe.writer.get(), lost);
  for (const std::string line : {"one\n", "two\n", "three\n"}) {
    log.write(line);
    EXPECT_EQ(read_until(pipe.reader.get(), "\n"), line);
  }
}

TEST(LogWriter, WaitsForAStuckPipeOnceAndAgainOnlyAfterItGotThrough) {
  const Pipe pipe;
  pipe.fill();
  LogWriter log(pipe.writer.get(), lost);
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) log.write("stuck\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 100 * LogWriter::kAtOnce);
  log.write("through\n");
  read_until(pipe.reader.get(), "through\n");
  ASSERT_TRUE(log.flush(kLong));
  fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
  log.write("again\n");
  EXPECT_EQ(read_until(pipe.reader.get(), "again\n"), "again\n");
}

TEST(LogWriter, NeverWaitsForAPipeThatNobodyReadsAndSaysWhereHowManyLinesWereLost) {
  const Pipe pipe;
  pipe.fill();
  LogWriter log(pipe.writer.get(), lost);
  write_numbers(log, 20'000);
  EXPECT_FALSE(log.flush(std::chrono::milliseconds(10)));
  EXPECT_EQ(fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0) << "others may have the same descriptor";
  std::string all;
  std::array<char, 4096> buffer;
  while (!log.flush(Duration::zero())) {
    const ssize_t length = read(pipe.reader.get(), buffer.data(), buffer.size());
    all.append(buffer.data(), static_cast<std::size_t>(length));
  }
  log.write("line 20000\n");
  ASSERT_TRUE(log.flush(kLong));
  all += read_until(pipe.reader.get(), "line 20000\n");
  expect_no_gap(all.substr(all.find_first_not_of('~')), 20'001);
}

TEST(LogWriter, WritesALineThatIsLongerThanWhatMayWait) {
  const Pipe pipe;
  LogWriter log(pipe.writer.get(), lost);
  std::string line(2 * LogWriter::kMostBytes, 'x');
  line += '\n';
  log.write(line);
  EXPECT_TRUE(read_until(pipe.reader.get(), "\n") == line);
}

TEST(LogWriter, WaitsForTheEndNoLongerThanItMay) {
  const Pipe pipe;
  pipe.fill();
  LogWriter log(pipe.writer.get(), lost);
  EXPECT_TRUE(log.flush(Duration::zero())) << "nothing is waiting";
  log.write("last\n");
  EXPECT_FALSE(log.flush(std::chrono::milliseconds(10)));
  read_until(pipe.reader.get(), "last\n");
  EXPECT_TRUE(log.flush(kLong));
}

TEST(LogWriter, WaitsInItsThreadWhereAnotherMadeTheDescriptorNonBlocking) {
  const Pipe pipe;
  pipe.fill();
  fcntl(pipe.writer.get(), F_SETFL, O_WRONLY | O_NONBLOCK);
  LogWriter log(pipe.writer.get(), lost);
  log.write("whole\n");
  EXPECT_FALSE(log.flush(std::chrono::milliseconds(10)));
  EXPECT_EQ(read_until(pipe.reader.get(), "whole\n"), "whole\n");
}

TEST(LogWriter, WritesToATerminalWhenItIsNoLongerStopped) {
  int controller = -1, terminal = -1;
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const FileDescriptor owns_controller(controller), owns_terminal(terminal);
  ASSERT_EQ(tcflow(terminal, TCOOFF), 0);  // as Ctrl-S does
  LogWriter log(terminal, lost);
  log.write("patience\n");
  EXPECT_FALSE(log.flush(std::chrono::milliseconds(10)));
  ASSERT_EQ(tcflow(terminal, TCOON), 0);
  EXPECT_EQ(read_until(controller, "\n"), "patience\r\n");
}

TEST(LogWriter, NeverWaitsForASocketThatNobodyReads) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor reader(ends[0]), writer(ends[1]);
  while (send(writer.get(), "~", 1, MSG_DONTWAIT) == 1) {
  }
  LogWriter log(writer.get(), lost);
  log.write("after all\n");
  EXPECT_FALSE(log.flush(std::chrono::milliseconds(10)));
  EXPECT_EQ(read_until(reader.get(), "after all\n"), "after all\n");
}

TEST(LogWriter, HoldsUpNobodyWhenItsReaderIsGone) {
  Pipe pipe;
  pipe.reader.close();
  LogWriter log(pipe.writer.get(), lost);
  for (int i = 0; i < 3; ++i) {
    log.write("unheard\n");
    EXPECT_TRUE(log.flush(kLong));
  }
}

}  // namespace
}  // namespace headgate
