#include "standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace headgate {

void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest that is free, which is this one. Not closed at exec, as none of the three is.
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace headgate
