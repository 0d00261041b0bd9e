// A listening UNIX socket at a path of the file system.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate {

// The socket is bound, given its group and mode, and set to listen under a temporary name beside `path`; only
// then does a rename put it at `path`. So whoever finds the path finds it final and listening, and the umask
// of the process is left alone. A dead daemon's file is swapped out by the same rename, looked at again, and
// put back if it turns out to be a live daemon that came between: of two that start at once, one wins and the
// other learns of it. Temporary names that killed daemons left are removed.
class PublishedSocket {
 public:
  // Throws std::runtime_error or std::system_error with the path in it.
  PublishedSocket(const std::string& path, std::optional<gid_t> group);
  ~PublishedSocket();  // unlinks the path if it is still ours
  PublishedSocket(const PublishedSocket&) = delete;
  PublishedSocket& operator=(const PublishedSocket&) = delete;

  int descriptor() const { return listener_.get(); }

 private:
  void bind_and_listen(const std::string& name, std::optional<gid_t> group);
  void publish(const std::string& name);

  std::string path_;
  FileDescriptor listener_;
  struct stat identity_ {};
};

}  // namespace headgate
