// The script by which Redis leases a budget's rate: lease_script.lua says what it takes and returns.
#pragma once

#include <string_view>

namespace headgate {

extern const std::string_view kLeaseScript;

}  // namespace headgate
