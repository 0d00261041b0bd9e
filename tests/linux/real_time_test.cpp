#include "linux/real_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace headgate::test {
namespace {

// Runs `work` as nobody, without real-time and locking limits, and returns what it returned.
std::string as_nobody(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_RTPRIO, &none);
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (geteuid() == 0 && setresuid(65'534, 65'534, 65'534) != 0) _exit(1);
    const std::string result = work();
    [[maybe_unused]] const auto written = write(ends[1], result.data(), result.size());
    _exit(0);
  }
  close(ends[1]);
  std::string result;
  char text[256];
  for (ssize_t count; (count = read(ends[0], text, sizeof text)) > 0;)
    result.append(text, static_cast<std::size_t>(count));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return result;
}

TEST(RealTime, SaysWhetherTheThreadIsScheduledInRealTime) {
  std::thread([] {
    const std::string refusal = set_real_time_priority();
    EXPECT_EQ(refusal.empty(), sched_getscheduler(0) == SCHED_FIFO) << refusal;
  }).join();
}

TEST(RealTime, ARefusalNamesTheLimitThatWouldPermitIt) {
  EXPECT_EQ(as_nobody([] { return set_real_time_priority(10); }),
            "SCHED_FIFO: Operation not permitted (LimitRTPRIO= of at least 10 permits it)");
  EXPECT_EQ(as_nobody([] { return lock_memory(); }),
            "mlockall: the limit of locked memory is 0 bytes (LimitMEMLOCK=infinity permits it)");
}

TEST(RealTime, TakesTheTimerSlackAway) {
  std::thread([] {
    EXPECT_EQ(set_timer_slack(), "");
    if (sched_getscheduler(0) == SCHED_OTHER) {
      EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1);
    }
  }).join();
}

}  // namespace
}  // namespace headgate::test
