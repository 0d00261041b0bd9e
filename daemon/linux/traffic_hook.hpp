// The traffic-control hooks of an interface: which BPF programs run there by TCX, and how to name a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vocabulary/config.hpp"

namespace headgate {

enum class TrafficHook { ingress, egress };

TrafficHook hook_of(Direction direction);
const char* name_of(Direction direction);  // "egress"

// Program ids, in the order in which they run; one system call. None: the kernel does not say, for it has no TCX or the
// interface is gone.
std::optional<std::vector<std::uint32_t>> tcx_programs(int interface_index, TrafficHook hook);

std::uint32_t program_id(int program);  // of a descriptor

// "monitor, id 41", or "id 41": the name takes CAP_SYS_ADMIN.
std::string program_text(std::uint32_t id);

}  // namespace headgate
