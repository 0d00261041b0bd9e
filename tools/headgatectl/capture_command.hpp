// headgatectl capture: a trace of what happens to the packets of a class, to a file or standard output.
#pragma once

#include "invocation.hpp"

namespace headgate {

// Until a signal, the number of packets, the end of whoever reads the output, or of the capture.
int capture(const Invocation& invocation);

}  // namespace headgate
