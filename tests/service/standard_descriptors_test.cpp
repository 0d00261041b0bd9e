#include "standard_descriptors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <initializer_list>

namespace headgate {
namespace {

// In a process of its own, with `closed` closed. True: `holds` is true there, behind the call.
bool after_opening(std::initializer_list<int> closed, const std::function<bool()>& holds) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int descriptor : closed) close(descriptor);
    open_standard_descriptors();
    _exit(holds() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_null(int descriptor) {
  struct stat status {
  }, null{};
  return fstat(descriptor, &status) == 0 && stat("/dev/null", &null) == 0 && status.st_rdev == null.st_rdev;
}

TEST(StandardDescriptors, AreOpenWhicheverWereClosed) {
  for (const auto closed : {std::initializer_list<int>{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    EXPECT_TRUE(after_opening(closed, [&] {
      for (const int descriptor : closed) {
        if (!is_null(descriptor)) return false;
      }
      return open("/dev/zero", O_RDONLY) > STDERR_FILENO;
    }));
  }
}

TEST(StandardDescriptors, StayWhatTheyAre) {
  EXPECT_TRUE(after_opening({}, [] {
    struct stat before {
    }, after{};
    fstat(STDOUT_FILENO, &before);
    open_standard_descriptors();
    fstat(STDOUT_FILENO, &after);
    return before.st_dev == after.st_dev && before.st_ino == after.st_ino;
  }));
}

TEST(StandardDescriptors, AreNoPlaceToWriteToWhereThereWasNone) {
  EXPECT_TRUE(after_opening({0, 1, 2}, [] {
    char byte = 0;
    const bool unwritable = write(STDOUT_FILENO, "x", 1) < 0 && errno == EBADF;
    return unwritable && read(STDIN_FILENO, &byte, 1) < 0 && errno == EBADF;
  }));
}

}  // namespace
}  // namespace headgate
