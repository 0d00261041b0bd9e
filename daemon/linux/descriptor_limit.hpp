// How many descriptors this process may have. A shape takes about twenty, so the usual soft limit of 1024 ends at some
// fifty shapes.
#pragma once

#include <cstddef>

namespace headgate {

std::size_t descriptor_limit();  // the soft limit

// To what the hard limit permits. Where that is refused, all stays as it is.
void raise_descriptor_limit();

}  // namespace headgate
