#include "linux/capture_time.hpp"

#include <algorithm>

namespace headgate {

Duration waited_since(timespec captured) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::max(Duration::zero(), std::chrono::seconds(now.tv_sec - captured.tv_sec) +
                                        std::chrono::nanoseconds(now.tv_nsec - captured.tv_nsec));
}

}  // namespace headgate
