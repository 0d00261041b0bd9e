// A socket filter for captures of what is sent on a device: what arrives there takes no room in their buffers.
#pragma once

#include "linux/file_descriptor.hpp"

namespace headgate {

// Of a packet socket. Throws std::system_error.
void take_only_what_is_sent(int packet_socket);

// A socket that receives nothing: for what passes on the device it runs the BPF program, which takes what it wants by
// itself, and lets nothing in. Until it is closed. Throws std::system_error.
FileDescriptor run_on_device(int device_index, int program);

}  // namespace headgate
