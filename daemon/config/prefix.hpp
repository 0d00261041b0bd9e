// Networks as prefixes (vocabulary/plan_member.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/reading.hpp"
#include "vocabulary/flow_key.hpp"
#include "vocabulary/network_set.hpp"
#include "vocabulary/plan_member.hpp"

namespace headgate {

// Of the range of one network.
Prefix prefix_of(const AddressRange<Ipv4Number>& network);
Prefix prefix_of(const AddressRange<Ipv6Number>& network);

// By the grammar of network_grammar.hpp. `prefix` is unchanged after an error.
Reading read_prefix(std::string_view text, Prefix& prefix);

bool is_ipv4(const Prefix& prefix);

// The network of so many bits that it is part of. A shorter one stays as it is.
Prefix shortened(const Prefix& prefix, std::uint8_t length);

// Of a key that has one address: how much of it stands in the key, as the length of a prefix.
std::uint8_t length_kept(const KeySpec& key, bool of_ipv4);

std::string to_text(const Prefix& prefix);  // "10.0.0.0/8", "10.0.0.1"

}  // namespace headgate
