// What a daemon that died may have left in the kernel, and its removal. By TCX only the devices stay behind;
// by clsact also a filter, and the qdisc that was made for it; and the wire of an inline shape, by design.
#pragma once

#include <string>
#include <vector>

#include "headgate/config.hpp"
#include "linux/netlink.hpp"

namespace headgate {

std::string filter_name(Direction direction);  // of the divert program on an interface

enum class Wires { remove, keep };

// Both return one sentence for each thing removed. Things of others, and those of a live daemon, stay.
std::vector<std::string> remove_leftovers(Netlink& netlink, Wires wires);
std::vector<std::string> remove_leftovers(Netlink& netlink, const Link& interface, Direction direction,
                                          Wires wires);

// Throws std::runtime_error that says which process shapes what, if any does in this network namespace.
void require_no_live_daemon(Netlink& netlink);

}  // namespace headgate
