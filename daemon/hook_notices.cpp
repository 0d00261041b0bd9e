#include "hook_notices.hpp"

#include <utility>

namespace headgate {

std::vector<std::string> HookNotices::new_in(const HookCounts& counts) {
  std::vector<std::string> notices;
  if (counts.unshapable.packets != 0 && !std::exchange(unshapable_said_, true)) {
    notices.emplace_back(
        "packets with tunnel metadata, or decrypted by IPsec, pass unshaped, for they would be lost "
        "otherwise; they are counted as unshapable");
  }
  if (counts.foreign.packets != 0 && !std::exchange(foreign_said_, true)) {
    notices.emplace_back(
        "another program sends on the divert device; its frames are dropped and counted as foreign, see "
        "headgated(8) for how to keep it away");
  }
  return notices;
}

}  // namespace headgate
