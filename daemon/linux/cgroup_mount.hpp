// Where cgroup v2 is mounted.
#pragma once

#include <string>
#include <string_view>

namespace headgate {

// By the text of /proc/self/mountinfo (proc(5)): of several the first that shows the whole hierarchy, as far as it is to be
// seen from here, else the first. Empty: nowhere.
std::string find_cgroup_mount(std::string_view mountinfo);

// Of this process, now.
std::string find_cgroup_mount();

}  // namespace headgate
