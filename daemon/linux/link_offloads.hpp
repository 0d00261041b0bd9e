// What a network device does to packets on the kernel's behalf, switched off where it must not happen.
#pragma once

#include <string>

namespace headgate {

// From here on the kernel hands the device only packets of its MTU with complete checksums, and the device
// merges no received packets. Takes every such feature that the kernel knows. Throws std::system_error.
void turn_off_segmentation_and_checksum_offload(const std::string& interface);

// Leaves the device only what a virtio header can describe: checksums of one's complement and TCP segments. All else
// arrives cut and complete, also UDP super-packets, which kernels before Linux 6.2 cannot describe; and the device
// merges no received packets. Throws std::system_error.
void leave_only_offloads_of_a_virtio_header(const std::string& interface);

}  // namespace headgate
