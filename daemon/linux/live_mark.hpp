// A mark on a network interface that its owner is alive: a packet socket that is bound to the interface with a protocol
// number of headgate's own, and gets nothing. The kernel lists it in /proc/net/packet for all of the network namespace,
// whatever file systems they have mounted, and takes it back however the process ends. Who may not capture packets
// cannot make one.
//
// A mark does not exclude others: who makes one looks for those of others after that.
#pragma once

#include <sys/types.h>

#include <optional>

#include "linux/file_descriptor.hpp"

namespace headgate {

class LiveMark {
 public:
  enum class Meaning { shapes_egress, shapes_ingress, uses_device };

  // Throws std::system_error.
  LiveMark(int interface_index, Meaning meaning);
  ~LiveMark();
  LiveMark(const LiveMark&) = delete;
  LiveMark& operator=(const LiveMark&) = delete;

  // The process that made such a mark, 0 where that is not to be seen from here. None: there is none.
  static std::optional<pid_t> find_owner(int interface_index, Meaning meaning);
  // Besides this one.
  std::optional<pid_t> find_other_owner() const;

 private:
  int interface_index_;
  Meaning meaning_;
  FileDescriptor socket_;
};

}  // namespace headgate
