// The vocabulary of the control socket: one JSON object a line each way. Both programs use this header.
//
//   request  {"command":"show"} | {"command":"flows","class":"eth0/egress/dns","limit":100} |
//            {"command":"flows","class":"clients","both":true} |
//            {"command":"reload"} | {"command":"version"} |
//            {"command":"explain","interface":"eth0","frame":"0200..."} |
//            {"command":"plan","class":"eth0/egress/customers","member":"10.0.0.5","plan":"gold"} |
//            {"command":"capture","class":"eth0/egress/dns","events":["received","sent","dropped"]}
//   reply    {"schema":1, ...}  or  {"schema":1,"error":{"code":"refused","message":"...","details":["...",
//   ...]}}
//
// Requests may be sent ahead; their replies come in order. A plan is null where a member is taken out.
// Behind the reply to "capture" comes a pcapng trace, until either side closes.
//
// headgatectl(1) describes every member of the replies. A schema only ever gains members.
#pragma once

#include <cstddef>
#include <string_view>

namespace headgate {

inline constexpr int kSchema = 1;
inline constexpr std::size_t kMaxRequestBytes = 64 * 1024;
inline constexpr std::size_t kMaxControlClients = 32;

// `limit` of a "flows" request. The most keeps a reply below 3 MiB.
inline constexpr std::size_t kDefaultFlowLimit = 100;
inline constexpr std::size_t kMaxFlowLimit = 4096;

// Exit codes of both programs.
enum ExitCode : int {
  kExitOk = 0,
  kExitUsage = 1,    // command line or configuration
  kExitRefused = 2,  // the daemon or the kernel refused
  kExitNotRunning = 3,
  kExitNotPermitted = 4,
};

// The codes of error replies.
inline constexpr std::string_view kErrorBadRequest = "bad_request";  // not a request as described above
inline constexpr std::string_view kErrorUnknownClass = "unknown_class";
inline constexpr std::string_view kErrorAmbiguousClass =
    "ambiguous_class";  // details: the classes it may mean
inline constexpr std::string_view kErrorUnknownInterface =
    "unknown_interface";  // not shaped, or not in that direction; details: what is
inline constexpr std::string_view kErrorUnknownPlan = "unknown_plan";  // the class has none of that name
inline constexpr std::string_view kErrorRefused = "refused";           // details: why, one a line
inline constexpr std::string_view kErrorBusy = "busy";                 // too many clients
inline constexpr std::string_view kErrorInternal = "internal";
inline constexpr std::string_view kErrorNotPermitted = "not_permitted";

// What headgatectl exits with when a reply carries `code`.
constexpr ExitCode exit_code_of(std::string_view code) {
  if (code == kErrorBadRequest || code == kErrorUnknownClass || code == kErrorAmbiguousClass ||
      code == kErrorUnknownPlan || code == kErrorUnknownInterface)
    return kExitUsage;
  if (code == kErrorNotPermitted) return kExitNotPermitted;
  return kExitRefused;
}

}  // namespace headgate
