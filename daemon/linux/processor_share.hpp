// For how long a thread that could run had no processor, and for want of which: a quota on the processor time of this
// process, or other threads.
//
// Sources: the thread's schedstat (proc(5): time spent waiting on a runqueue) and cpu.stat of this process's control
// group and those above it (throttled_usec with cgroup v2, throttled_time with v1). What cannot be read counts as zero.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "headgate/clock.hpp"

namespace headgate {

struct ProcessorWait {
  Duration throttled{};      // of the control group that was throttled the longest
  std::string throttled_by;  // its path; empty: none was
  Duration waited{};         // of the thread, on a runqueue
};

class ProcessorShare {
 public:
  // `root`: where /proc and /sys are found, for tests.
  explicit ProcessorShare(pid_t thread, const std::string& root = "");

  // Since the last call, or construction.
  ProcessorWait since_last();

 private:
  struct Group {
    std::string path;
    std::string file;
    Duration throttled{};
  };
  static Duration throttled_time(const std::string& file);
  Duration waiting_time() const;

  const std::string schedstat_;
  std::vector<Group> groups_;
  Duration waited_{};
};

}  // namespace headgate
