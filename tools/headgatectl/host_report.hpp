// What a bug report says of the host. Texts end with a line end; nothing here fails, what cannot be read is left out.
#pragma once

#include <string>

namespace headgate {

// "Linux 6.1.0-25-amd64 #1 SMP ... x86_64", without the name of the host.
std::string kernel_text();

// "Debian GNU/Linux 12 (bookworm)"
std::string distribution_text();

// A line for each interface of this network namespace: kind, driver, MTU, state, queues, MAC address; and the offloads that are
// on, where ethtool(8) is there to tell them.
std::string interfaces_text();

}  // namespace headgate
