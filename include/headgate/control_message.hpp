// The vocabulary of the control socket: one JSON object a line each way. Both programs use this header.
//
//   request  {"command":"show"} | {"command":"flows","class":"eth0/egress/dns","limit":100} | {"command":"reload"} |
//            {"command":"version"}
//   reply    {"schema":1, ...}  or  {"schema":1,"error":{"code":"refused","message":"..."}}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate {

inline constexpr int kSchema = 1;
inline constexpr std::size_t kMaxRequestBytes = 64 * 1024;
inline constexpr std::size_t kMaxControlClients = 32;

// Exit codes of both programs.
enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 1,         // command line or configuration
  kExitRefused = 2,       // the daemon or the kernel refused
  kExitNotRunning = 3,
  kExitNotPermitted = 4,
};

}  // namespace headgate
