// What a program of classic BPF reads and where it leads, told without running it.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/classic_match.hpp"

namespace headgate {

inline constexpr std::uint32_t kMaxShift = 31;

// What of A, X and the cells of memory is read later, a bit for each.
using Live = std::uint32_t;
inline constexpr Live kLiveA = 1U << BPF_MEMWORDS, kLiveX = kLiveA << 1;

// What is live in front of each instruction. None: the program cannot be translated, as it loops, leads out of itself, reads
// memory that it has not written, or has instructions that there are not.
std::optional<std::vector<Live>> live_before(std::span<const ClassicInstruction> program);

// How often each instruction is jumped to or come to from the one before. The program can be translated.
std::vector<unsigned> ways_to(std::span<const ClassicInstruction> program);

}  // namespace headgate
