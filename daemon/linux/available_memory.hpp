// How much memory this process may come to have: what the host has left, or less where a control group bounds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vocabulary/available_memory.hpp"

namespace headgate {

// Whether what the headgated processes of this host hold already counts as available: for a file that one of them is to
// read, or that is checked for its next start.
enum class Held : std::uint8_t { does_not_count, counts };

// The smallest of MemAvailable, and of the limits of this process's control group and those above it (version 2, or
// version 1). None: /proc says nothing. `root` stands before every path; tests have their own.
std::optional<AvailableMemory> available_memory(Held held, const std::string& root = {});

}  // namespace headgate
