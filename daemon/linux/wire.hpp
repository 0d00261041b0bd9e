// The wire between two interfaces that an inline shape is put into: a filter on the ingress of one, behind
// everything else there, sends what reaches it out of the other, and promiscuous mode lets frames of every
// address reach it. Both live in the kernel and outlive this process: while nobody diverts, the wire carries
// everything.
//
// A frame is shaped when the divert, which runs earlier, takes it; all others go by the wire.
#pragma once

#include <string>
#include <vector>

#include "linux/netlink.hpp"

namespace headgate {

class Wire {
 public:
  // Lays the wire, or takes over one that a dead daemon left, without a gap. `netlink` must outlive this object.
  Wire(Netlink& netlink, const Link& from, const Link& to);
  ~Wire();  // removes it, unless it is to be kept
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Initially a wire that was taken over is kept and a new one is not.
  void keep(bool on) { kept_ = on; }

  bool in_place() const;  // false: filter, promiscuous mode or the other end has gone

  // What runs before it and may keep frames from it, as in BpfAttachment::Place: all programs by TCX, and filters. `divert`
  // is our own, which does so by right. Not asked where the interface is gone.
  std::string ahead(std::uint32_t divert) const;

  // Removes what wires there are from this interface, whoever laid them: one sentence each.
  static std::vector<std::string> remove_from(Netlink& netlink, const Link& from);

 private:
  Netlink& netlink_;
  const int from_;
  const int to_;
  std::uint32_t program_id_ = 0;
  Filter filter_;
  bool clsact_is_ours_ = false;
  bool kept_ = false;
};

}  // namespace headgate
