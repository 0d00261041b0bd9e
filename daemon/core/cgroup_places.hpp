// Which bit of ArrivingPacket::cgroups stands for which cgroup.
//
// A place is one cgroup's as long as anybody holds it, then free for another. Packets that wait may still have its bit from
// the cgroup before: they arrived before `since`, and their bit says nothing then.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgate/clock.hpp"

namespace headgate {

struct CgroupPlace {
  std::string path;     // Selectors::cgroups
  unsigned number = 0;  // of the bit
  Instant since{};
};

using CgroupPlaces = std::vector<std::shared_ptr<const CgroupPlace>>;

}  // namespace headgate
