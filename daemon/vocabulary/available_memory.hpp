// How much memory this process may come to have.
#pragma once

#include <string>

#include "headgate/units.hpp"

namespace headgate {

struct AvailableMemory {
  DataSize size;
  std::string source;  // who says so: "MemAvailable of /proc/meminfo"
};

}  // namespace headgate
