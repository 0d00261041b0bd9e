// What a daemon that died may have left in the kernel, and its removal. By TCX only the devices stay behind;
// by clsact also a filter, and the qdisc that was made for it; and the wire of an inline shape, by design.
#pragma once

#include <string>
#include <vector>

#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

std::string filter_name(Direction direction);  // of the divert program on an interface

enum class Wires { remove, keep };

// They tell of each thing removed in one sentence. Things of others, and those of a live daemon, stay.
std::vector<std::string> remove_leftovers(Netlink& netlink, Wires wires);
// Of one direction of an interface.
void remove_leftovers(Netlink& netlink, const Link& interface, Direction direction, Wires wires,
                      std::vector<std::string>& done);
void remove_left_devices(Netlink& netlink, std::vector<std::string>& done);

// Throws std::runtime_error that says which process shapes what, if any does in this network namespace.
void require_no_live_daemon(Netlink& netlink);

}  // namespace headgate
