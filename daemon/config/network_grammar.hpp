// The grammar of a network: "10.0.0.0/8", "2001:db8::/32", or an address alone.
#pragma once

#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/network_set.hpp"

namespace headgate {

// Adds a network. What has bits set beyond its prefix is refused. `networks` is unchanged after an error.
Reading read_network(std::string_view text, Networks& networks);

}  // namespace headgate
