// One process shapes an interface in one direction, by whatever name it knows it. Two things see to that, for as long as
// this object lives:
//
//   a lock on a file that is named by network namespace, interface index and direction (InstanceLock)
//   a mark on the interface itself (LiveMark), for those who do not share the directory or may not write there
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "linux/instance_lock.hpp"
#include "linux/live_mark.hpp"
#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Another shape of this process has it.
class ShapedHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ShapeLock {
 public:
  // Throws std::runtime_error that names the process which shapes it already, or ShapedHere.
  ShapeLock(const Link& interface, Direction direction);

  // Which process shapes the interface: "process 1234". None: nobody does.
  static std::optional<std::string> find_holder(int interface_index, Direction direction);

 private:
  std::optional<InstanceLock> file_;  // none: not to be written from here
  LiveMark mark_;
};

}  // namespace headgate
