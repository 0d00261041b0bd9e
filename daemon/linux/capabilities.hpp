// The capabilities that headgate works with: CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, and nothing beyond them.
#pragma once

#include <initializer_list>

namespace headgate {

enum class Capability { net_admin, net_raw, bpf, lock_memory };

bool have_capability(Capability capability);  // effective in this thread

// Throws std::system_error (EPERM) that names those that this thread lacks.
void require_capabilities(std::initializer_list<Capability> needed);

}  // namespace headgate
