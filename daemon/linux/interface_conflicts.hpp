// What shapes must have to do with each other once it is known which of their names mean the same interface. By the
// names alone the configuration has been checked before.
#pragma once

#include <vector>

#include "linux/netlink.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Throws std::runtime_error when an interface is shaped twice in one direction, or is the other end of two wires.
// Interfaces that are not there are passed over.
void refuse_interface_conflicts(Netlink& netlink, const std::vector<ShapeConfig>& shapes);

}  // namespace headgate
