// What is said once in the log of what the programs in the kernel do by themselves, when they first do it.
#pragma once

#include <string>
#include <vector>

#include "vocabulary/statistics.hpp"

namespace headgate {

class HookNotices {
 public:
  // A sentence for each count that is above zero for the first time.
  std::vector<std::string> new_in(const HookCounts& counts);

 private:
  bool unshapable_said_ = false;
  bool foreign_said_ = false;
};

}  // namespace headgate
