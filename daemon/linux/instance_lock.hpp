// A name that at most one process holds in a network namespace, for as long as it lives: an abstract UNIX
// socket that it listens on. The kernel frees the name however the process ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate {

class InstanceLock {
 public:
  struct Holder {
    pid_t process = 0;              // 0: not to be seen from here
    std::string to_string() const;  // "process 1234"
  };

  static std::optional<InstanceLock> acquire(const std::string& name);  // none: somebody holds it
  static std::optional<Holder> find_holder(const std::string& name);

 private:
  explicit InstanceLock(FileDescriptor socket) : socket_(std::move(socket)) {}

  FileDescriptor socket_;
};

}  // namespace headgate
