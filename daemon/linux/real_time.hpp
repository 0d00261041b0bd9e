// What makes departures exact, asked of the kernel for this process or thread. Each may be refused, and
// headgate works without: the result is empty when it was granted, else the reason, for the log.
#pragma once

#include <cstddef>
#include <string>

namespace headgate {

inline constexpr int kRealTimePriority = 10;  // above ordinary threads, below the kernel's own

// This thread: SCHED_FIFO. Needs LimitRTPRIO= or CAP_SYS_NICE.
std::string set_real_time_priority(int priority = kRealTimePriority);

// This process: threads made from here on have a stack of this size, for locked memory holds the whole of each. 1 MB is
// several times what they use, sanitizers included.
inline constexpr std::size_t kThreadStackBytes = 1024 * 1024;
void limit_thread_stacks(std::size_t bytes = kThreadStackBytes);

// This process: nothing of it is paged out, now or later. Needs LimitMEMLOCK=infinity or CAP_IPC_LOCK; not
// tried under a finite limit, for allocations would fail later when it is reached.
std::string lock_memory();

// This thread: timers expire within 1 ns of their time instead of the default 50 µs. Real-time threads have
// none anyway.
std::string set_timer_slack();

}  // namespace headgate
