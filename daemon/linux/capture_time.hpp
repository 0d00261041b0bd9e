// How long captured frames wait, by the kernel's stamps.
#pragma once

#include <ctime>

#include "headgate/clock.hpp"

namespace headgate {

// `captured`: the stamp of a frame, in wall time. Any thread. Zero when that clock was set back meanwhile.
Duration waited_since(timespec captured);

}  // namespace headgate
