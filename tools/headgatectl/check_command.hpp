// headgatectl check: everything that is wrong with a configuration file.
#pragma once

#include "invocation.hpp"

namespace headgate {

// Needs no daemon.
int check(const Invocation& invocation);

}  // namespace headgate
