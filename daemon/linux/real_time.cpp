#include "linux/real_time.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "linux/capabilities.hpp"

namespace headgate {

std::string set_real_time_priority(int priority) {
  const sched_param parameters{.sched_priority = priority};
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) == 0) return {};
  return std::string("SCHED_FIFO: ") + std::strerror(errno) + " (LimitRTPRIO= of at least " +
         std::to_string(priority) + " permits it)";
}

void limit_thread_stacks(std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

std::string lock_memory() {
  constexpr char kHint[] = " (LimitMEMLOCK=infinity permits it)";
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur != RLIM_INFINITY && !have_capability(Capability::lock_memory))
    return "mlockall: the limit of locked memory is " + std::to_string(limit.rlim_cur) + " bytes" + kHint;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) return {};
  return std::string("mlockall: ") + std::strerror(errno) + kHint;
}

std::string set_timer_slack() {
  if (prctl(PR_SET_TIMERSLACK, 1UL) == 0) return {};
  return std::string("timer slack: ") + std::strerror(errno);
}

}  // namespace headgate
