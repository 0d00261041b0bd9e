// What a network device does to packets on the kernel's behalf, switched off where wire-sized packets are
// wanted.
#pragma once

#include <string>

namespace headgate {

// From here on the kernel hands the device only packets of its MTU with complete checksums, and the device
// merges no received packets. Takes every such feature that the kernel knows. Throws std::system_error.
void turn_off_segmentation_and_checksum_offload(const std::string& interface);

}  // namespace headgate
