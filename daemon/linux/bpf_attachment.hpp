// A BPF program on a traffic-control hook of an interface, for as long as this object lives.
//
// By TCX the kernel takes the program off when this process ends, however it ends. A clsact filter stays
// behind then; its name is how clean-up knows it.
//
// The program goes in front of those of others: a packet that it diverts has not passed them yet, and passes
// them once when it is sent again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linux/file_descriptor.hpp"
#include "linux/netlink.hpp"
#include "linux/traffic_hook.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

std::uint32_t clsact_parent(TrafficHook hook);

class BpfAttachment {
 public:
  // False: this kernel is older than Linux 6.6 or was built without TCX.
  static bool kernel_has_tcx(int program);

  // `method` must not be automatic. `netlink` must outlive this object.
  BpfAttachment(Netlink& netlink, DivertMethod method, int interface_index, TrafficHook hook,
                std::string name, int program);
  ~BpfAttachment();
  BpfAttachment(const BpfAttachment&) = delete;
  BpfAttachment& operator=(const BpfAttachment&) = delete;

  // What the kernel says of the hook. Not asked where the interface is gone.
  struct Place {
    bool is_there = true;  // false: somebody took our program away, or put another one in its place
    std::string ahead;     // what runs before ours: "another program (monitor, id 41)"; empty: nothing
  };
  Place place() const;

 private:
  void attach_filter(int program);
  Place place_by_tcx() const;
  Place place_by_clsact() const;
  bool is_ours(const Filter& filter) const;
  bool was_replaced() const;

  Netlink& netlink_;
  int interface_index_;
  TrafficHook hook_;
  std::uint32_t program_id_;
  FileDescriptor tcx_link_;
  Filter filter_;  // kind is empty with TCX
  bool clsact_is_ours_ = false;
};

// What somebody else runs on the hook ahead of the filter with program `end`, named as in Place; empty: nothing. `ours` is
// the program that is passed over. One system call and one dump.
std::string first_of_others(Netlink& netlink, int interface_index, TrafficHook hook, std::uint32_t ours,
                            std::uint32_t end);

// Whether all filters on the interface, at least one, are headgate's: then so is their clsact qdisc, whichever shape
// made it, and the last of them to go takes it along.
bool has_filters_of_headgate_alone(Netlink& netlink, int interface_index);

// A clsact qdisc on an interface, for as long as this object lives; then it goes if nobody has a filter there and it is
// headgate's. To be made before anything is sent on the interface, and to go after the last was: when the kernel makes
// or removes a clsact it stops the interface's transmit queues for some milliseconds, and what is sent meanwhile is lost
// although the send call succeeds.
class ClsactHold {
 public:
  ClsactHold(Netlink& netlink, int interface_index);
  ~ClsactHold();
  ClsactHold(const ClsactHold&) = delete;
  ClsactHold& operator=(const ClsactHold&) = delete;

 private:
  Netlink& netlink_;
  int interface_index_;
  bool ours_ = false;
};

// Removes the filter, and the clsact qdisc too where `with_clsact` and nobody has a filter there.
void remove_filter(Netlink& netlink, int interface_index, const Filter& filter, bool with_clsact);

}  // namespace headgate
