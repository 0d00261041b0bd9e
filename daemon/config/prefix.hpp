// Networks as prefixes (vocabulary/plan_member.hpp).
#pragma once

#include <string>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/network_set.hpp"
#include "vocabulary/plan_member.hpp"

namespace headgate {

// Of the range of one network.
Prefix prefix_of(const AddressRange<Ipv4Number>& network);
Prefix prefix_of(const AddressRange<Ipv6Number>& network);

// By the grammar of network_grammar.hpp. `prefix` is unchanged after an error.
Reading read_prefix(std::string_view text, Prefix& prefix);

std::string to_text(const Prefix& prefix);  // "10.0.0.0/8", "10.0.0.1"

}  // namespace headgate
