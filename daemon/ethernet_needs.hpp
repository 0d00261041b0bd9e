// What the classes of a shape ask for that only Ethernet frames have. Known to be missing once the interface is.
#pragma once

#include "vocabulary/config.hpp"

namespace headgate {

// Throws std::runtime_error that names the class: for an interface without an Ethernet header.
void refuse_ethernet_needs(const ShapeConfig& shape);

}  // namespace headgate
