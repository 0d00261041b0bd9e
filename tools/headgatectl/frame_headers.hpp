// What the headers of a frame say, for people.
#pragma once

#include <cstddef>
#include <span>

#include "control/flow_key_text.hpp"

namespace headgate {

// Whole addresses, protocol and ports; MAC addresses only where it is not IP. Of a frame with an Ethernet header.
DecodedFlowKey headers_of(std::span<const std::byte> frame);

}  // namespace headgate
