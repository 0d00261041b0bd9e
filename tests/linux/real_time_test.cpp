#include "linux/real_time.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "linux/child_process.hpp"

namespace headgate::test {
namespace {

// As nobody, without the right to real-time priorities and locked memory.
std::string as_nobody(const std::function<std::string()>& work) {
  return result_in_child([&]() -> std::string {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_RTPRIO, &none);
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (geteuid() == 0 && setresuid(65'534, 65'534, 65'534) != 0) return "cannot become nobody";
    return work();
  });
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

TEST(RealTime, LimitsTheStacksOfThreadsToCome) {
  const std::string size = result_in_child([]() -> std::string {
    limit_thread_stacks(256 * 1024);
    std::string found;
    std::thread([&found] {
      pthread_attr_t attributes;
      std::size_t bytes = 0;
      pthread_getattr_np(pthread_self(), &attributes);
      pthread_attr_getstacksize(&attributes, &bytes);
      pthread_attr_destroy(&attributes);
      found = std::to_string(bytes);
    }).join();
    return found;
  });
  EXPECT_EQ(size, std::to_string(256 * 1024));
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
