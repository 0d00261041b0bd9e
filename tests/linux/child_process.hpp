// Work done in child processes of a test, where it may lose privileges or be killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace headgate::test {

// Does `work` and then stays until it is killed by SIGKILL, at the latest by the destructor. Construction returns when
// the work is done, and throws when it threw.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void()>& work);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void kill_now();
  pid_t process() const { return process_; }

 private:
  pid_t process_ = 0;
};

// What `work` returned in a child process, or the message of what it threw there.
std::string result_in_child(const std::function<std::string()>& work);

}  // namespace headgate::test
