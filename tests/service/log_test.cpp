#include "log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>

#include <cstdlib>

#include "linux/file_descriptor.hpp"

namespace headgate {
namespace {

TEST(Log, NamesTheProgramAndWhatIsWrong) {
  const LogFormat format{"headgated"};
  EXPECT_EQ(format_log(format, LogPriority::error, "no"), "headgated: error: no\n");
  EXPECT_EQ(format_log(format, LogPriority::warning, "hm"), "headgated: warning: hm\n");
  EXPECT_EQ(format_log(format, LogPriority::info, "so"), "headgated: so\n");
}

TEST(Log, GivesThePriorityOfEachLineToTheJournal) {
  EXPECT_EQ(format_log({"headgated", true}, LogPriority::warning, "one\ntwo\n"), "<4>one\n<4>two\n");
}

TEST(Log, RepeatsTheProgramOnEachLine) {
  EXPECT_EQ(format_log({"headgated"}, LogPriority::notice, "one\ntwo"), "headgated: one\nheadgated: two\n");
}

TEST(Log, ColoursOnlyTheWordForThePriority) {
  EXPECT_EQ(format_log({"headgated", false, true}, LogPriority::warning, "hm"),
            "headgated: \033[1;33mwarning: \033[0mhm\n");
  EXPECT_EQ(format_log({"headgated", false, true}, LogPriority::info, "so"), "headgated: so\n");
}

TEST(Log, ShowsWhatCannotBeSeen) {
  EXPECT_EQ(format_log({"headgated"}, LogPriority::error, "\033[2J\u202e\ngone"),
            "headgated: error: \\x1b[2J\\u202e\nheadgated: error: gone\n");
}

class LogDetection : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("NO_COLOR");
    unsetenv("JOURNAL_STREAM");
  }
  void TearDown() override { SetUp(); }

  static void set_journal_stream(int descriptor) {
    struct stat status {};
    fstat(descriptor, &status);
    setenv("JOURNAL_STREAM", (std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino)).c_str(),
           1);
  }

  const FileDescriptor null{open("/dev/null", O_WRONLY | O_CLOEXEC)};
  const FileDescriptor zero{open("/dev/zero", O_WRONLY | O_CLOEXEC)};
};

TEST_F(LogDetection, KnowsTheJournalByItsStream) {
  set_journal_stream(null.get());
  EXPECT_TRUE(detect_log_format("headgated", null.get()).journal);
  EXPECT_FALSE(detect_log_format("headgated", zero.get()).journal);
  setenv("JOURNAL_STREAM", "nonsense", 1);
  EXPECT_FALSE(detect_log_format("headgated", null.get()).journal);
}

TEST_F(LogDetection, ColoursATerminalUnlessNoColorIsSet) {
  int controller = -1, terminal = -1;
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const FileDescriptor owns_controller(controller), owns_terminal(terminal);
  EXPECT_TRUE(detect_log_format("headgated", terminal).colour);
  EXPECT_FALSE(detect_log_format("headgated", null.get()).colour);
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(detect_log_format("headgated", terminal).colour);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(detect_log_format("headgated", terminal).colour);
}

}  // namespace
}  // namespace headgate
