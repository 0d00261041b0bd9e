// The grammar of `mark`: "0x10/0xff", value and mask as for iptables, or a value alone, which all bits must have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/reading.hpp"
#include "vocabulary/config.hpp"

namespace headgate {

// Adds one, unless it is there. Numbers are decimal, or hexadecimal behind "0x". The list is unchanged after an error.
Reading read_mark(std::string_view text, std::vector<MarkSelector>& marks);

// What read_mark() reads to the same selectors.
std::vector<std::string> mark_texts(const std::vector<MarkSelector>& marks);

}  // namespace headgate
