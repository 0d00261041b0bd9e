// The grammar of `dscp`: code points of the IP header by name, "ef", or by number, "46"; and of `exceed`, which may name
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reading.hpp"

namespace headgate {

// Adds a code point to the set, in which bit n stands for n. The set is unchanged after an error.
Reading read_dscp(std::string_view text, std::uint64_t& code_points);

// What read_dscp() reads to the same set, lowest first: names where there are any.
std::vector<std::string> dscp_texts(std::uint64_t code_points);

// "drop": none; or "dscp:cs1". `dscp` is unchanged after an error.
Reading read_exceed(std::string_view text, std::optional<std::uint8_t>& dscp);
std::string exceed_text(std::optional<std::uint8_t> dscp);

}  // namespace headgate
