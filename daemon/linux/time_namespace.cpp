#include "linux/time_namespace.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace headgate {

Duration monotonic_offset(std::string_view offsets) {
  std::istringstream lines{std::string(offsets)};
  std::string clock;
  std::int64_t seconds = 0, nanoseconds = 0;
  while (lines >> clock >> seconds >> nanoseconds) {
    if (clock == "monotonic") return std::chrono::seconds(seconds) + Duration(nanoseconds);
  }
  return Duration::zero();
}

// The file speaks of the namespace of children to come. That is our own, as we have not asked for another one.
Duration monotonic_offset() {
  std::ifstream file("/proc/self/timens_offsets");
  const std::string offsets(std::istreambuf_iterator<char>(file), {});
  return monotonic_offset(offsets);
}

}  // namespace headgate
