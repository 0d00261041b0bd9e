// A socket filter for captures of what is sent on a device: what arrives there takes no room in their buffers.
#pragma once

namespace headgate {

// Of a packet socket. Throws std::system_error.
void take_only_what_is_sent(int packet_socket);

}  // namespace headgate
