#include "linux/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace headgate {

namespace {

// Enough for thousands of shapes. Some systems set the hard limit to a thousand million.
constexpr rlim_t kMost = 65'536;

}  // namespace

std::size_t descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

void raise_descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kMost));
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace headgate
