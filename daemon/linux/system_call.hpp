// System calls that report failure by a negative result and errno.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace headgate {

// Returns `result`, or throws std::system_error that names the attempt.
inline int check_system_call(const std::string& attempt, int result) {
  if (result < 0) throw std::system_error(errno, std::system_category(), attempt);
  return result;
}

}  // namespace headgate
