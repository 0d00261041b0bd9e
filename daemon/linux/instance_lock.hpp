// A lock that at most one process holds, for as long as it lives: on a file in the runtime directory, which tells the
// process. The kernel frees it however the process ends; a clean end removes the file, too.
//
// The file is readable by its owner alone: who can open a file can lock it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "linux/file_descriptor.hpp"
#include "linux/runtime_directory.hpp"

namespace headgate {

class InstanceLock {
 public:
  // `name` is that of the file. None: somebody holds it. Throws as open_runtime_directory().
  static std::optional<InstanceLock> acquire(const std::string& name,
                                             const std::string& directory = kRuntimeDirectory);

  // The process that holds it, 0 where the file does not tell. None: nobody does, or it is not to be seen from here.
  static std::optional<pid_t> find_holder(const std::string& name,
                                          const std::string& directory = kRuntimeDirectory);

  // Removes the files that nobody holds, of whatever network namespace.
  static void sweep(const std::string& directory = kRuntimeDirectory);

  static constexpr char kSuffix[] = ".lock";  // of every name

  ~InstanceLock();
  InstanceLock(InstanceLock&& other) noexcept = default;
  InstanceLock& operator=(InstanceLock&& other) = delete;

 private:
  InstanceLock(std::string name, std::string directory, FileDescriptor file)
      : name_(std::move(name)), directory_(std::move(directory)), file_(std::move(file)) {}

  std::string name_;
  std::string directory_;
  FileDescriptor file_;
};

}  // namespace headgate
