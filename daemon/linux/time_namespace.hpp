// CLOCK_MONOTONIC here against that of eBPF programs: time_namespaces(7).
//
// A time namespace moves the CLOCK_MONOTONIC of its processes; bpf_ktime_get_ns() knows no namespaces.
#pragma once

#include <string_view>

#include "headgate/clock.hpp"

namespace headgate {

// An Instant of this process less this is what bpf_ktime_get_ns() says. Zero in the initial time namespace, and where the
// kernel has none.
Duration monotonic_offset();

// The same of the text of /proc/PID/timens_offsets.
Duration monotonic_offset(std::string_view offsets);

}  // namespace headgate
