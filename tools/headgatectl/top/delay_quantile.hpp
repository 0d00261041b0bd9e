// Quantiles of the delays between two looks, of which headgated gives how many lay between fixed bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace headgate::top {

// `packets` holds a number for what lies below each of `bounds` and not below the one before, and one more for what
// lies above all. `finer` is the same quantile of a longer time, measured more finely: where it lies within the
// right bounds it is the answer, else what is between them is taken as even. Microseconds. Nothing without packets.
std::optional<double> delay_quantile(const std::vector<std::uint64_t>& packets,
                                     const std::vector<double>& bounds, double share, double finer);

}  // namespace headgate::top
