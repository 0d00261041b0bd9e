// While one of these exists, the packet sockets and divert devices whose owners are destroyed are not undone one by one but
// collected, and go together when it ends: the sockets are closed by several threads side by side, the devices deleted by
// one request.
//
// By itself each of them waits, once or several times, until no processor uses it any more (an RCU grace period, some ten
// milliseconds); together they wait as one does. For a daemon that stops with many shapes. Until then the devices are
// there, but nothing is diverted to them: the divert is taken off the interface as ever. If the process dies meanwhile,
// they are what any dead daemon leaves.
//
// At most one at a time; any thread may destroy what is collected.
#pragma once

#include <vector>

#include "linux/file_descriptor.hpp"
#include "linux/netlink.hpp"

namespace headgate {

class BulkRelease {
 public:
  BulkRelease();
  ~BulkRelease();
  BulkRelease(const BulkRelease&) = delete;
  BulkRelease& operator=(const BulkRelease&) = delete;

  // For destructors: at once where there is no BulkRelease.
  static void close(FileDescriptor socket);
  static void delete_link(Netlink& netlink, int index);  // throws std::system_error

 private:
  std::vector<FileDescriptor> sockets_;
  std::vector<int> links_;
};

}  // namespace headgate
